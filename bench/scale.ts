/** How much of everything one run does. Quick ends within a minute and is for a look; full is for figures to keep. */
export interface Scale {
  readonly mode: 'full' | 'quick';
  /** Rounds of each subject, in turn with the others. Odd, so that the median is a round. */
  readonly rounds: number;
  readonly roundMs: number;
  readonly warmupMs: number;
  /** Requests drawn for one round of the memory cases. */
  readonly trafficOperations: number;
  /** Records of the cases about a million records. */
  readonly liveRecords: number;
  readonly pauseMs: number;
  /** Table sizes of the growth case, ascending. */
  readonly tableSizes: readonly number[];
  /** The TypeScript engine takes part up to here. */
  readonly typescriptTableMost: number;
  readonly loadsPerRound: number;
  /** Rates of the latency case, operations per second, ascending. */
  readonly rates: readonly number[];
  readonly rateMs: number;
}

export const FULL: Scale = {
  mode: 'full',
  rounds: 7,
  roundMs: 1000,
  warmupMs: 500,
  trafficOperations: 500_000,
  liveRecords: 1_000_000,
  pauseMs: 10_000,
  tableSizes: [10_000, 100_000, 1_000_000, 10_000_000],
  typescriptTableMost: 1_000_000,
  loadsPerRound: 500_000,
  rates: [100, 300, 1000, 3000, 10_000, 30_000, 60_000, 100_000, 150_000, 200_000, 300_000],
  rateMs: 2000,
};

export const QUICK: Scale = {
  mode: 'quick',
  rounds: 3,
  roundMs: 100,
  warmupMs: 80,
  trafficOperations: 40_000,
  liveRecords: 100_000,
  pauseMs: 900,
  tableSizes: [10_000, 100_000, 300_000],
  typescriptTableMost: 100_000,
  loadsPerRound: 50_000,
  rates: [1000, 10_000, 100_000],
  rateMs: 200,
};
