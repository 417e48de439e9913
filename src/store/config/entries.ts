import { nearestName } from '../../contract/options.js';
import type { EngineKind, StoreKind, SweptConfig } from '../kind/kind.js';
import { KINDS } from '../kind/kinds.js';
import {
  booleanField,
  choiceField,
  type Fields,
  isMapping,
  type Place,
  readFields,
  refuse,
  showFields,
  shown,
  textField,
} from './field.js';
import { readSource, type Source } from './source.js';

/** An entry of a configuration, checked, with the defaults in place. */
export type ResolvedEntry = StoreEntry | EngineEntry;

export interface StoreEntry {
  readonly role: 'store';
  readonly id: string;
  readonly kind: StoreKind<SweptConfig>;
  readonly config: SweptConfig;
  /** The id of the engine's entry. */
  readonly database: string | undefined;
  readonly autoStart: boolean;
}

export interface EngineEntry {
  readonly role: 'engine';
  readonly id: string;
  readonly kind: EngineKind<object>;
  readonly config: object;
}

/** A checked entry, its fields spelled as a configuration spells them. */
export interface DescribedEntry {
  readonly id: string;
  readonly kind: string;
  readonly autoStart: boolean;
  readonly config: Readonly<Record<string, unknown>>;
}

interface DocumentConfig {
  readonly version: '1.0';
  readonly namespace: string | undefined;
  readonly entries: readonly unknown[];
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const NAME_RULE =
  'a letter or digit, then letters, digits, dots, underscores or hyphens, 128 characters at most';

const NAME_FIELD = textField(NAME, NAME_RULE);
const DOCUMENT_FIELDS: Fields<DocumentConfig> = {
  version: choiceField(['1.0']),
  namespace: {
    read: (value, refuse) => (value === undefined ? undefined : NAME_FIELD.read(value, refuse)),
    show: (value) => value,
  },
  entries: {
    read: (value, refuse) => {
      if (Array.isArray(value)) return value as unknown[];
      throw refuse(`must be a list of entries, got ${shown(value)}`);
    },
    show: (value) => value,
  },
};
const LIFECYCLE_FIELDS = { auto_start: booleanField(false) };
/** What every entry has beside the fields of its kind. */
const COMMON = ['name', 'kind', 'lifecycle'];

/**
 * Everything that can be wrong with a configuration is found here, before any of it is started. Throws `invalid_option`, whose message
 * names the entry, the line if there are lines, the field and the way out.
 */
export function resolveEntries(given: unknown): ReadonlyMap<string, ResolvedEntry> {
  const source = readSource(given);
  const { namespace, entries } = readFields<DocumentConfig>(source.data, DOCUMENT_FIELDS, {
    owner: 'the configuration of stores',
    lineOf: (field) => source.lineOf([field]),
  });
  const resolved = new Map<string, ResolvedEntry>();
  for (const [index, each] of entries.entries()) {
    const entry = resolveEntry(each, index, namespace, source);
    if (resolved.has(entry.id)) {
      throw refuse(
        entryPlace(`entry '${entry.id}'`, index, source),
        'name',
        'stands twice; every entry needs one of its own',
      );
    }
    resolved.set(entry.id, entry);
  }
  for (const [index, entry] of [...resolved.values()].entries()) {
    if (entry.role === 'store')
      requireDatabase(entry, resolved, entryPlace(`entry '${entry.id}'`, index, source));
  }
  return resolved;
}

/** The entries of a configuration as they would be used, in order. Starts nothing. Throws `invalid_option`. */
export function checkStores(source: string | object): DescribedEntry[] {
  return [...resolveEntries(source).values()].map((entry) => ({
    id: entry.id,
    kind: entry.kind.kind,
    autoStart: entry.role === 'store' && entry.autoStart,
    config: showFields(entry.config, entry.kind.fields as Fields<object>),
  }));
}

function resolveEntry(
  given: unknown,
  index: number,
  namespace: string | undefined,
  source: Source,
): ResolvedEntry {
  const unnamed = entryPlace(`entry ${index + 1}`, index, source);
  if (!isMapping(given)) throw refuse(unnamed, undefined, `must be a mapping of fields, got ${shown(given)}`);
  const name = NAME_FIELD.read(given['name'], (problem) => refuse(unnamed, 'name', problem));
  const id = namespace === undefined ? name : `${namespace}:${name}`;
  const place = entryPlace(`entry '${id}'`, index, source);
  const kind = kindOf(given['kind'], place);
  const lifecycle = readFields(given['lifecycle'] ?? {}, LIFECYCLE_FIELDS, {
    owner: `${place.owner}: lifecycle`,
    lineOf: (field) => source.lineOf(['entries', index, 'lifecycle', field]),
  });
  if (kind.role === 'engine') {
    if (given['lifecycle'] !== undefined) {
      throw refuse(place, 'lifecycle', 'an engine is open as long as one of its stores runs; leave it out');
    }
    return { role: 'engine', id, kind, config: readFields<object>(given, kind.fields, place, COMMON) };
  }
  const config: SweptConfig & { readonly database?: string } = readFields<SweptConfig>(
    given,
    kind.fields,
    place,
    COMMON,
  );
  const reference = config.database;
  const database =
    reference === undefined || namespace === undefined || reference.includes(':')
      ? reference
      : `${namespace}:${reference}`;
  return { role: 'store', id, kind, config, database, autoStart: lifecycle.auto_start };
}

function kindOf(kind: unknown, place: Place): StoreKind<SweptConfig> | EngineKind<object> {
  const names = KINDS.map((each) => each.kind);
  const known = KINDS.find((each) => each.kind === kind);
  if (known !== undefined) return known;
  const given = typeof kind === 'string' ? kind : undefined;
  const meant = given === undefined ? undefined : nearestName(given, names);
  throw refuse(
    place,
    'kind',
    `${given === undefined ? `must be text, got ${shown(kind)}` : `there is no kind '${given.slice(0, 64)}'`}; ${meant === undefined ? '' : `did you mean '${meant}'? `}the kinds are ${names.join(', ')}`,
  );
}

function requireDatabase(entry: StoreEntry, all: ReadonlyMap<string, ResolvedEntry>, place: Place): void {
  const { database, kind } = entry;
  if (database === undefined || kind.databases === undefined) return;
  const engine = all.get(database);
  if (engine !== undefined && kind.databases.includes(engine.kind.kind)) return;
  const fitting = [...all.values()]
    .filter((each) => kind.databases?.includes(each.kind.kind))
    .map(({ id }) => id);
  throw refuse(
    place,
    'database',
    `${engine === undefined ? `there is no entry '${database}'` : `'${database}' is a ${engine.kind.kind}`}; it must name an entry of kind ${kind.databases.join(' or ')}${fitting.length === 0 ? ', add one' : `: ${fitting.join(', ')}`}`,
  );
}

function entryPlace(owner: string, index: number, source: Source): Place {
  return { owner, lineOf: (field) => source.lineOf(['entries', index, field]) };
}
