/** What rules asked for and could not be done as asked, counted by reason. */
export interface DiagnosticCounts {
  /** Actions on a collection that was not bound. */
  readonly unboundCollection: number;
  /** Collections that were bound to another key already, and keep it. */
  readonly alreadyBound: number;
  /** Bindings whose key came out empty. */
  readonly emptyKey: number;
  /** Keys over the limit that were replaced by their SHA-256. */
  readonly digestedKey: number;
  /** Seconds that came out negative, as no number or beyond ten years; amounts of deprecatevar below 1. */
  readonly invalidNumber: number;
  /** Actions on a fact of the record that it does not allow. */
  readonly factTarget: number;
  /** Actions dropped because of a limit: of the value, the name, the variables, the record, the mutations. */
  readonly droppedByLimit: number;
  /** Sums held at a bound of 64 bits. */
  readonly saturated: number;
}

export type DiagnosticReason = keyof DiagnosticCounts;

const NONE: DiagnosticCounts = Object.freeze({
  unboundCollection: 0,
  alreadyBound: 0,
  emptyKey: 0,
  digestedKey: 0,
  invalidNumber: 0,
  factTarget: 0,
  droppedByLimit: 0,
  saturated: 0,
});

/** Counters for as many plans and rule sets as share them. */
export class Diagnostics {
  readonly #counts: Record<DiagnosticReason, number> = { ...NONE };

  count(reason: DiagnosticReason, times = 1): void {
    this.#counts[reason] += times;
  }

  /** The counts at this moment. */
  snapshot(): DiagnosticCounts {
    return { ...this.#counts };
  }
}
