import { backUp } from '../backend/lmdb/backup.js';
import { type Arguments, type CommandSpec, EXIT } from './arguments.js';
import { print } from './output.js';
import { STATE_OPTIONS } from './state.js';
import { stateDirectory } from './state-directory.js';
import { counted } from './terminal.js';

export const BACKUP: CommandSpec = {
  name: 'backup',
  summary: 'Copies a state directory beside servers that write to it, and checks the copy.',
  operands: ['DIRECTORY'],
  options: { path: STATE_OPTIONS.path },
  notes: `DIRECTORY is made; one that is there is never overwritten. Every commit acknowledged before the command began is in the copy, which
appears under its name when it is whole, on disk, and read to its last record. Open it like any state directory, or bring it back
with 'wafstate import'.

  wafstate backup ./state-backup --path ./state`,
};

export async function backup(args: Arguments): Promise<number> {
  const [directory] = args.operands as [string];
  const { records, variables, pages } = await backUp(
    stateDirectory(args.text('path') as string, '--path'),
    directory,
  );
  if (args.flag('json')) print(`${JSON.stringify({ records, variables, pages })}\n`);
  else print(`${counted(records, 'record')} with ${counted(variables, 'variable')} copied and checked\n`);
  return EXIT.success;
}
