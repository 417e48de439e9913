import { type Arguments, type CommandSpec, EXIT } from './arguments.js';
import { print } from './output.js';
import { STATE_OPTIONS, withState } from './state.js';
import { counted, isoTime, Progress } from './terminal.js';

export const CLEANUP: CommandSpec = {
  name: 'cleanup',
  summary: 'Frees what has expired: timed-out records, expired variables, records without variables.',
  operands: [],
  options: {
    ...STATE_OPTIONS,
    slice: {
      type: 'integer',
      placeholder: 'N',
      initial: 1024,
      least: 1,
      most: 1_000_000,
      help: 'records looked at in one transaction',
    },
  },
  notes: `Engines sweep by themselves; this is for a directory that no process has open, or for space at once. It works
in slices, between which a live server goes on writing.

  wafstate cleanup --path ./state`,
};

export async function cleanup(args: Arguments): Promise<number> {
  const { total, at } = await withState(args, 'write', async (state) => {
    const now = state.now();
    const progress = new Progress();
    const total = { recordsExamined: 0, recordsRemoved: 0, variablesRemoved: 0 };
    const budget = { records: args.integer('slice') as number, variables: 1_000_000_000 };
    // The first slice begins where an earlier sweep has stopped, so one round is from the start of the second lap to its end.
    for (let laps = 0; laps < 2; ) {
      const slice = await state.backend.cleanup(now, budget);
      if (slice.wrapped) laps++;
      total.recordsExamined += slice.recordsExamined;
      total.recordsRemoved += slice.recordsRemoved;
      total.variablesRemoved += slice.variablesRemoved;
      progress.update(() => `${total.recordsExamined.toLocaleString('en')} records examined`);
    }
    progress.end();
    return { total, at: isoTime(now) };
  });
  if (args.flag('json')) print(`${JSON.stringify({ at, ...total })}\n`);
  else {
    print(
      `removed ${counted(total.recordsRemoved, 'record')} and ${counted(total.variablesRemoved, 'variable')} that had ended by ${at}\n`,
    );
  }
  return EXIT.success;
}
