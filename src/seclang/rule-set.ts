import type { Transaction } from '../collections/index.js';
import type { CollectionName } from '../contract/space.js';
import type { Diagnostics } from './diagnostics.js';
import { Evaluation } from './evaluation.js';
import type { RequestFacts } from './request.js';
import type { EngineMode, Item, Phase } from './rule.js';

/** A construct that was left out because of `unsupported: 'skip'`, or that cannot do what it says. */
export interface RuleWarning {
  readonly file: string;
  readonly line: number;
  readonly construct: string;
  readonly message: string;
}

export interface RuleSetParts {
  readonly items: readonly Item[];
  readonly mode: EngineMode;
  readonly applicationId: string;
  /** Seconds. */
  readonly collectionTimeout: number;
  readonly warnings: readonly RuleWarning[];
  readonly diagnostics: Diagnostics;
}

const COLLECTIONS = [
  'ip',
  'session',
  'user',
  'global',
  'resource',
] as const satisfies readonly CollectionName[];

/** Rules, compiled once for any number of requests. Immutable but for its counters. */
export class RuleSet {
  readonly mode: EngineMode;
  readonly warnings: readonly RuleWarning[];
  readonly diagnostics: Diagnostics;
  /**
   * What the rules say about their collections, for `new Collections({ backend, ...rules.collectionOptions })`: SecWebAppId and
   * SecCollectionTimeout (default 3600 seconds).
   */
  readonly collectionOptions: {
    readonly applicationId: string;
    readonly timeouts: Readonly<Record<CollectionName, number>>;
  };
  readonly #phases: readonly (readonly Item[])[];

  /** `compileRules` and `loadRules` make them. */
  constructor({ items, mode, applicationId, collectionTimeout, warnings, diagnostics }: RuleSetParts) {
    this.mode = mode;
    this.warnings = Object.freeze([...warnings]);
    this.diagnostics = diagnostics;
    const timeouts = Object.fromEntries(COLLECTIONS.map((name) => [name, collectionTimeout]));
    this.collectionOptions = Object.freeze({
      applicationId,
      timeouts: Object.freeze(timeouts as Record<CollectionName, number>),
    });
    this.#phases = [1, 2, 3, 4, 5].map((phase) =>
      items.filter((item) => item.type === 'marker' || item.phase === phase),
    );
    Object.freeze(this);
  }

  /** How many rules there are; a chain is one. */
  get size(): number {
    return this.#phases.flat().filter(({ type }) => type === 'rule').length;
  }

  /**
   * Begins to judge one request on its transaction. The engine under it must load synchronously. Nothing is flushed and
   * nothing closed here: that stays with whoever began the transaction. Throws `invalid_option` for a fact that is missing, unknown or
   * of the wrong kind.
   */
  begin(transaction: Transaction, request: RequestFacts): Evaluation {
    return new Evaluation(this, transaction, request);
  }

  /** The rules and markers of a phase, in order. */
  itemsOf(phase: Phase): readonly Item[] {
    return this.#phases[phase - 1] as readonly Item[];
  }
}
