import { DEFAULT_LIMITS } from '../contract/limits.js';
import type { Snapshot } from '../contract/snapshot.js';
import { isExpired } from '../contract/variable.js';
import { type Arguments, type CommandSpec, EXIT } from './arguments.js';
import { print } from './output.js';
import { describeRecord, describeValue, RECORD_OPTIONS, recordArgument, withState } from './state.js';
import { columns, counted, isoTime, printable } from './terminal.js';

export const GET: CommandSpec = {
  name: 'get',
  summary: 'Shows one record: its facts and its variables.',
  operands: ['COLLECTION', 'KEY'],
  options: {
    ...RECORD_OPTIONS,
    all: { type: 'flag', help: 'expired variables and deadlines without a value too' },
  },
  notes: `Ends with status 1 if there is no such record.

  wafstate get --path ./state ip 203.0.113.9
  wafstate get --path ./state session abc%00def --all --json
  wafstate get --path ./state user alice --key-secret-file ./state.secret`,
};

export async function get(args: Arguments): Promise<number> {
  const { name, snapshot, now } = await withState(args, 'read', async (state) => {
    const record = recordArgument(args, state.application);
    const now = state.now();
    const snapshot = await state.backend.load(record, now, DEFAULT_LIMITS, args.flag('all'));
    return { name: describeRecord(record), snapshot, now };
  });
  if (args.flag('json')) {
    print(`${JSON.stringify({ ...name, at: isoTime(now), ...forPrograms(snapshot, now) })}\n`);
  } else if (snapshot.facts === undefined) {
    print(`no such record as of ${isoTime(now)}\n`);
  } else {
    print(
      `${name.collection} ${name.key}${name.application === '' ? '' : ` (application ${name.application})`}\n`,
    );
    print(forPeople(snapshot, now));
  }
  return snapshot.facts === undefined ? EXIT.finding : EXIT.success;
}

function forPrograms({ revision, facts, variables }: Snapshot, now: bigint) {
  if (facts === undefined) return { found: false };
  return {
    found: true,
    revision,
    created: isoTime(facts.created),
    updated: isoTime(facts.updated),
    updateCount: facts.updateCount,
    ...(facts.timeout !== undefined && { expires: isoTime(facts.updated + facts.timeout) }),
    variables: [...variables].map(([name, variable]) => ({
      name: printable(name),
      ...(variable.value !== undefined && { value: describeValue(variable.value) }),
      ...(variable.deadline !== undefined && {
        expires: isoTime(variable.deadline),
        expired: isExpired(variable, now),
      }),
    })),
  };
}

function forPeople({ revision, facts, variables }: Snapshot, now: bigint): string {
  if (facts === undefined) return '';
  const rows = [
    ['  revision', String(revision)],
    ['  created', isoTime(facts.created)],
    ['  updated', `${isoTime(facts.updated)}, ${counted(facts.updateCount, 'commit')}`],
    ['  expires', facts.timeout === undefined ? 'never' : isoTime(facts.updated + facts.timeout)],
  ];
  const cells = [...variables].map(([name, variable]) => [
    `  ${printable(name)}`,
    variable.value === undefined ? '(no value yet)' : printable(variable.value),
    variable.deadline === undefined
      ? 'does not expire'
      : `${isExpired(variable, now) ? 'expired' : 'expires'} ${isoTime(variable.deadline)}`,
  ]);
  return `${columns(rows)}variables as of ${isoTime(now)}: ${cells.length}\n${columns(cells)}`;
}
