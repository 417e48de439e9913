import type { RecordWrite } from '../contract/backend.js';
import { type ByteString, lowerAscii } from '../contract/bytes.js';
import { checkCommit } from '../contract/check.js';
import { DEFAULT_LIMITS } from '../contract/limits.js';
import type { Mutation } from '../contract/mutation.js';
import type { RecordName } from '../contract/space.js';
import { isTimedOut } from '../record/apply.js';
import { type Arguments, type CommandSpec, EXIT } from './arguments.js';
import { print } from './output.js';
import {
  argumentBytes,
  describeRecord,
  RECORD_OPTIONS,
  recordArgument,
  type State,
  withState,
} from './state.js';

export const DELETE: CommandSpec = {
  name: 'delete',
  summary: 'Removes a record, also a corrupt one, or one variable of it: how to end a block by hand.',
  operands: ['COLLECTION', 'KEY', 'VARIABLE?'],
  options: RECORD_OPTIONS,
  notes: `Ends with status 1 if there was no such record or variable. Safe beside a live server.

  wafstate delete --path ./state ip 203.0.113.9 blocked
  wafstate delete --path ./state session abc
  wafstate delete --path ./state user alice --key-secret-file ./state.secret`,
};

export async function remove(args: Arguments): Promise<number> {
  const variable = args.operands[2];
  const { name, existed } = await withState(args, 'write', async (state) => {
    const record = recordArgument(args, state.application);
    const existed =
      variable === undefined
        ? await commit(state, record, { type: 'removeRecord' })
        : await removeVariable(
            state,
            record,
            lowerAscii(argumentBytes(variable, 'VARIABLE', DEFAULT_LIMITS.nameBytes)),
          );
    return { name: describeRecord(record), existed };
  });
  if (args.flag('json')) print(`${JSON.stringify({ ...name, existed })}\n`);
  else {
    print(
      existed ? 'removed\n' : `there was no such record${variable === undefined ? '' : ' or variable'}\n`,
    );
  }
  return existed ? EXIT.success : EXIT.finding;
}

/** Looks first: a commit would make the record that is not there. */
async function removeVariable(state: State, record: RecordName, name: ByteString): Promise<boolean> {
  const mutation: Mutation = { type: 'remove', name };
  // A name that no variable can have is a mistake, and not merely absent.
  checkCommit(writes(record, mutation), { now: state.now(), limits: DEFAULT_LIMITS });
  const { facts, variables } = await state.backend.load(record, state.now(), DEFAULT_LIMITS, true);
  if (facts === undefined || isTimedOut(facts, state.now()) || !variables.has(name)) return false;
  return commit(state, record, mutation);
}

/** Whether the record was there. */
async function commit(state: State, record: RecordName, mutation: Mutation): Promise<boolean> {
  const [result] = await state.backend.commit(writes(record, mutation), {
    now: state.now(),
    limits: DEFAULT_LIMITS,
  });
  return result?.existed === true;
}

function writes(record: RecordName, mutation: Mutation): RecordWrite[] {
  return [{ record, expect: 'any', mutations: [mutation] }];
}
