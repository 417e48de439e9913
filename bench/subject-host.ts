import { closedLoop, type Operation } from './load/closed-loop.js';
import { address, type KeySet, Keys } from './load/keys.js';
import { settledResidentBytes } from './load/memory.js';
import { openLoop } from './load/open-loop.js';
import type { Call, CallName, Calls, Reply } from './protocol.js';
import type { Instance, OperationName } from './subject.js';
import { findSubject } from './subjects/all.js';

/** The process of one subject: opens it, carries out what the runner asks, and ends with the channel. */

type Handlers = {
  readonly [Name in CallName]: (
    request: Parameters<Calls[Name]>[0],
  ) => Promise<ReturnType<Calls[Name]>> | ReturnType<Calls[Name]>;
};

/** Operations that are under way while a table is filled. */
const FILLERS = 1000;

const subject = findSubject(process.argv[2] ?? '');
const keySets = new Map<string, Keys>();
let opened: Instance | undefined;

const handlers: Handlers = {
  open: async (options) => {
    opened = await subject.open(options);
  },
  prepare: async ({ operation, keys }) => {
    const known = keysOf(keys).known();
    const { seed } = instance();
    if (seed === undefined) await each(known, operation);
    else await seed(known);
  },
  closedLoop: ({ operation, keys, callers, milliseconds }) =>
    closedLoop(operationOf(operation), keysOf(keys).round(), { callers, milliseconds }),
  openLoop: ({ operation, keys, rate, milliseconds }) =>
    openLoop(operationOf(operation), keysOf(keys).round(), { rate, milliseconds }),
  fill: async ({ operation, from, to }) => {
    await each(addresses(from, to), operation);
  },
  memory: () => settledResidentBytes(),
  total: async ({ count }) => {
    const { read } = instance();
    if (read === undefined) throw new Error(`${subject.id} cannot be read back`);
    let sum = 0;
    for (const key of addresses(0, count)) sum += await read(key);
    return sum;
  },
  apply: (request) => {
    const { apply } = instance();
    if (apply === undefined) throw new Error(`${subject.id} applies no batches`);
    return apply(request);
  },
  close: async () => {
    await opened?.close();
    opened = undefined;
  },
};

function instance(): Instance {
  if (opened === undefined) throw new Error(`${subject.id} is not open`);
  return opened;
}

function operationOf(name: OperationName): Operation {
  const operation = instance().operations[name];
  if (operation === undefined) throw new Error(`${subject.id} has no operation ${name}`);
  return operation;
}

function keysOf(set: KeySet): Keys {
  const id = JSON.stringify(set);
  const keys = keySets.get(id) ?? new Keys(set);
  keySets.set(id, keys);
  return keys;
}

function* addresses(from: number, to: number): Generator<string> {
  for (let number = from; number < to; number++) yield address(number);
}

async function each(keys: Iterable<string>, name: OperationName): Promise<void> {
  const operation = operationOf(name);
  const iterator = keys[Symbol.iterator]();
  const fillers = Array.from({ length: FILLERS }, async () => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) await operation(next.value);
  });
  await Promise.all(fillers);
}

async function answer({ name, request }: Call): Promise<Reply> {
  try {
    const handler = handlers[name] as (request: unknown) => unknown;
    return { result: (await handler(request)) ?? null };
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

process.on('message', (call: Call) => {
  void answer(call).then((reply) => process.send?.(reply));
});
// The runner is gone: nothing here is of use to anyone.
process.on('disconnect', () => process.exit());
