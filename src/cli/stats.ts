import { type Arguments, type CommandSpec, EXIT } from './arguments.js';
import { print } from './output.js';
import { STATE_OPTIONS, withState } from './state.js';
import { columns } from './terminal.js';

export const STATS: CommandSpec = {
  name: 'stats',
  summary: 'Shows the size of a state directory, what is in use of it, and its readers.',
  operands: [],
  options: { path: STATE_OPTIONS.path },
  notes: `freePages lie within the file and will be used again; usedPages x pageSize nearing mapSize means that the map is nearly
full: raise mapSize where the environment is opened. A readers figure that stays near maxReaders means that readers die
without being cleared, or that maxReaders is too small.

  wafstate stats --path ./state --json`,
};

export async function stats(args: Arguments): Promise<number> {
  const figures = await withState(args, 'read', async ({ backend }) => backend.stats());
  if (args.flag('json')) print(`${JSON.stringify(figures)}\n`);
  else {
    const rows = Object.entries(figures).map(([name, figure]) => [
      name,
      // A revision is a name, and stands as `get` and `list` have it.
      typeof figure === 'number' && name !== 'revision' ? figure.toLocaleString('en') : String(figure),
    ]);
    print(columns(rows));
  }
  return EXIT.success;
}
