import { lowerAscii } from '../contract/bytes.js';
import { DEFAULT_LIMITS } from '../contract/limits.js';
import type { Mutation } from '../contract/mutation.js';
import { type Arguments, type CommandSpec, EXIT } from './arguments.js';
import { argumentBytes, describeRecord, RECORD_OPTIONS, recordArgument, withState } from './state.js';

export const DELETE: CommandSpec = {
  name: 'delete',
  summary: 'Removes a record, also a corrupt one, or one variable of it: how to end a block by hand.',
  operands: ['COLLECTION', 'KEY', 'VARIABLE?'],
  options: RECORD_OPTIONS,
  notes: `Ends with status 1 if there was no such record. Safe beside a live server.

  wafstate delete --path ./state ip 203.0.113.9 blocked
  wafstate delete --path ./state session abc
  wafstate delete --path ./state user alice --key-secret-file ./state.secret`,
};

export async function remove(args: Arguments): Promise<number> {
  const variable = args.operands[2];
  return withState(args, 'write', async (state) => {
    const record = recordArgument(args, state.application);
    const mutation: Mutation =
      variable === undefined
        ? { type: 'removeRecord' }
        : { type: 'remove', name: lowerAscii(argumentBytes(variable)) };
    const [result] = await state.backend.commit([{ record, expect: 'any', mutations: [mutation] }], {
      now: state.now,
      limits: DEFAULT_LIMITS,
    });
    const existed = result?.existed === true;
    if (args.flag('json'))
      process.stdout.write(`${JSON.stringify({ ...describeRecord(record), existed })}\n`);
    else process.stdout.write(existed ? 'removed\n' : 'there was no such record\n');
    return existed ? EXIT.success : EXIT.finding;
  });
}
