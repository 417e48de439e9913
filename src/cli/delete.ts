import { lowerAscii } from '../contract/bytes.js';
import { DEFAULT_LIMITS } from '../contract/limits.js';
import type { Mutation } from '../contract/mutation.js';
import { type Arguments, type CommandSpec, EXIT } from './arguments.js';
import {
  APPLICATION_OPTION,
  argumentBytes,
  describeRecord,
  recordArgument,
  STATE_OPTIONS,
  withState,
} from './state.js';

export const DELETE: CommandSpec = {
  name: 'delete',
  summary: 'Removes a record, also a corrupt one, or one variable of it: how to end a block by hand.',
  operands: ['COLLECTION', 'KEY', 'VARIABLE?'],
  options: { ...STATE_OPTIONS, ...APPLICATION_OPTION },
  notes: `Ends with status 1 if there was no such record. Safe beside a live server.

  wafstate delete --path ./state ip 203.0.113.9 blocked
  wafstate delete --path ./state session abc`,
};

export async function remove(args: Arguments): Promise<number> {
  const [collection, key, variable] = args.operands as [string, string, string?];
  return withState(args, 'write', async (state) => {
    const record = recordArgument(state, collection, key);
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
