export interface IndependentCount {
  readonly lines: number;
  readonly malformed: number;
  readonly blocked: readonly {
    readonly address: string;
    readonly requests: number;
    readonly at: string;
    readonly until: string;
  }[];
}

export function independentCount(
  log: Buffer,
  rule: { readonly limit: number; readonly window: number; readonly block: number },
): IndependentCount;
