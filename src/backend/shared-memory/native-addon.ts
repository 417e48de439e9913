/**
 * The part of the addon that shared tables use: native/addon/shared_table.cc, exactly as it is called. Every call is done
 * when it returns, in a time that does not grow with the table.
 */
export interface SharedTableAddon {
  /** The table of this process with that name; its bounds are those that it was made with. */
  sharedTableOpen(name: string, maxBytes: number, maxRecords: number, evicts: boolean): OpenedTable;
  /** Lets go of the handle and its buffers; the table stays. */
  sharedTableClose(handle: number): void;
  /** Where `sharedTableCommit` finds requests and `sharedTableLoad` keys. It must not be detached. */
  sharedTableSetInput(handle: number, input: Uint8Array): void;
  /** Where answers and records are copied to; at once, where the last commit's answer did not fit. */
  sharedTableSetOutput(handle: number, output: Uint8Array): void;
  /**
   * One request of `length` bytes in the input. Gives the bytes of the answer (docs/format.md, Reply), which is in the output
   * from `at` on if it fits; negative where records were evicted, which `sharedTableReport` tells.
   */
  sharedTableCommit(handle: number, length: number, at: number): number;
  /**
   * The record whose key (docs/format.md, Key) is in the input: its bytes, 0 = absent; in the output from `at` on if it fits,
   * without its checksum.
   */
  sharedTableLoad(handle: number, length: number, at: number): number;
  /** Of the last commit: evicted records that had ended, were seen once, least recently used, held; what a refusal met. */
  sharedTableReport(handle: number): readonly [number, number, number, number, TableBound];
  /** Records, bytes, refused commits; evictions since the table was made, as above. */
  sharedTableStats(handle: number): readonly [number, number, number, number, number, number, number];
  /** Records examined, records removed, variables removed, 1 if the end was reached. */
  sharedTableCleanUp(
    handle: number,
    now: bigint,
    records: number,
    variables: number,
  ): readonly [number, number, number, number];
  /** True for one thread in each interval, in milliseconds. */
  sharedTableClaimSweep(handle: number, interval: number): boolean;
  sharedTableBeginScan(
    handle: number,
    prefix: Uint8Array,
    after: Uint8Array,
    limit: number,
    now: bigint,
    hidden: boolean,
  ): object;
  /** Looks at about as many records; `undefined` until the whole table was looked at. */
  sharedTableGoOnWithScan(
    scan: object,
    records: number,
  ): { readonly records: readonly Buffer[]; readonly more: boolean } | undefined;
}

/** What a commit met that found no room. */
export const TableBound = { bytes: 0, records: 1, oneRecord: 2 } as const;
export type TableBound = (typeof TableBound)[keyof typeof TableBound];

export interface OpenedTable {
  readonly handle: number;
  readonly maxBytes: number;
  readonly maxRecords: number;
  readonly evicts: boolean;
}
