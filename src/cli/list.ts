import { DEFAULT_LIMITS } from '../contract/limits.js';
import type { RecordName } from '../contract/space.js';
import { type Arguments, type CommandSpec, EXIT, UsageError } from './arguments.js';
import { print } from './output.js';
import {
  APPLICATION_OPTION,
  argumentBytes,
  collectionSpace,
  describeRecord,
  STATE_OPTIONS,
  type State,
  withState,
} from './state.js';
import { columns, counted, isoTime } from './terminal.js';

export const LIST: CommandSpec = {
  name: 'list',
  summary: 'Lists the records of a state directory, in byte order.',
  operands: [],
  options: {
    ...STATE_OPTIONS,
    ...APPLICATION_OPTION,
    collection: { type: 'text', placeholder: 'NAME', help: 'only ip, session, user, global or resource' },
    prefix: { type: 'text', placeholder: 'TEXT', help: 'only keys that begin so; needs --collection' },
    limit: {
      type: 'integer',
      placeholder: 'N',
      initial: 1000,
      least: 1,
      most: 1_000_000,
      help: 'records at most',
    },
    all: { type: 'flag', help: 'timed-out records too, and count hidden variables' },
  },
  notes: `Keys are shown with %XX for every byte that is not printable ASCII, and may be given so.

  wafstate list --path ./state --collection ip --prefix 203.0.113.
  wafstate list --path ./state --json | jq '.records[].key'`,
};

interface Row {
  readonly collection: string;
  readonly application: string;
  readonly key: string;
  readonly revision?: number;
  readonly variables?: number;
  readonly updated?: string;
  /** Why the record cannot be read. */
  readonly error?: string;
}

export async function list(args: Arguments): Promise<number> {
  if (args.text('prefix') !== undefined && args.text('collection') === undefined) {
    throw new UsageError('--prefix needs --collection: records are ordered by collection first');
  }
  const { rows, more, now } = await withState(args, 'read', (state) => collect(state, args));
  if (args.flag('json')) {
    print(`${JSON.stringify({ at: isoTime(now), records: rows, more })}\n`);
    return EXIT.success;
  }
  const head = ['collection', 'application', 'key', 'revision', 'variables', 'updated'];
  const cells = rows.map((row) => [
    row.collection,
    row.application === '' ? '-' : row.application,
    row.key,
    ...(row.error === undefined
      ? [String(row.revision), String(row.variables), row.updated ?? '']
      : ['corrupt', '', row.error]),
  ]);
  print(columns([head, ...cells]));
  print(
    `${counted(rows.length, 'record')} as of ${isoTime(now)}${more ? '; there are more: raise --limit' : ''}\n`,
  );
  const bare = args.flag('all') ? 0 : rows.filter(({ variables }) => variables === 0).length;
  if (bare > 0) {
    print(`${bare} of them with no variable left by then: they expired (see --all) or were removed\n`);
  }
  return EXIT.success;
}

async function collect(state: State, args: Arguments) {
  const collection = args.text('collection');
  const prefix = args.text('prefix');
  const scoped = args.text('application') !== undefined || prefix !== undefined;
  const space = collection === undefined ? undefined : collectionSpace(collection);
  if (scoped && space === undefined)
    throw new UsageError('--application needs --collection: records are ordered by collection first');
  const now = state.now();
  const query = {
    now,
    space,
    applicationId: scoped ? state.application : undefined,
    prefix: prefix === undefined ? undefined : argumentBytes(prefix, '--prefix', DEFAULT_LIMITS.keyBytes),
    hidden: args.flag('all'),
  };
  const limit = args.integer('limit') as number;
  const rows: Row[] = [];
  let after: RecordName | undefined;
  do {
    const page = await state.backend.scan({ ...query, after, limit: Math.min(1000, limit - rows.length) });
    for (const { record, snapshot, error } of page.entries) {
      const name = describeRecord(record);
      rows.push(
        snapshot === undefined
          ? { ...name, error: error.message }
          : {
              ...name,
              revision: snapshot.revision,
              variables: snapshot.variables.size,
              updated: isoTime(snapshot.facts?.updated ?? 0n),
            },
      );
    }
    after = page.next;
  } while (after !== undefined && rows.length < limit);
  return { rows, more: after !== undefined, now };
}
