import type { BenchCase } from '../bench-case.js';
import { buildModsecurity, MODSECURITY_TITLE, modsecurityContender } from '../modsecurity/program.js';
import type { RunContext } from '../run-context.js';
import { lmdbNative, lmdbTypeScript } from '../subjects/wafstate-lmdb.js';
import { memory } from '../subjects/wafstate-memory.js';
import { sharedMemory } from '../subjects/wafstate-shared-memory.js';
import { KEYS, uniform } from './key-sets.js';
import { callersSetting } from './memory-operations.js';

/** As many requests as a busy server has under way. */
export const RULED_CALLERS = 64;
const ALONE = callersSetting(1);

export const rulesMainThread: BenchCase = {
  id: 'rules_main_thread',
  title: 'What twenty rules cost the main thread',
  chart: 'figures',
  unit: 'CPU µs of the main thread per request',
  describe: () =>
    `CPU time of the main thread alone per request that is judged by the twenty stateful rules of bench/rules/stateful.conf and stored ` +
    `durably on LMDB, at ${RULED_CALLERS} under way on ${KEYS.toLocaleString('en')} addresses. Everything is in it but the server: binding four ` +
    'collections, five phases, the flush, and the load generator.',
  run: async (context) => {
    const settings = [
      {
        setting: callersSetting(RULED_CALLERS),
        operation: 'ruled_request',
        keys: uniform,
        callers: RULED_CALLERS,
      },
    ] as const;
    const results = await context.compare([
      ...(await context.contend(lmdbNative, 'durable', settings)),
      ...(await context.contend(lmdbTypeScript, 'durable', settings)),
    ]);
    return results.map(({ mainThreadMicroseconds, ...rest }) => ({
      ...rest,
      ...(mainThreadMicroseconds === undefined
        ? { note: 'this system does not tell the CPU time of a thread' }
        : { mainThreadMicroseconds, figure: mainThreadMicroseconds }),
    }));
  },
};

export const rulesMemory: BenchCase = {
  id: 'rules_memory',
  title: 'Twenty rules, beside libmodsecurity',
  chart: 'rates',
  describe: () =>
    `Requests per second through the twenty stateful rules of bench/rules/stateful.conf, one after the other in one thread, on ` +
    `${KEYS.toLocaleString('en')} addresses, with the state in memory: wafstate, and libmodsecurity 3 by a C++ program that makes the same ` +
    'request. The program checks that no count was lost.',
  run: async (context) => {
    const settings = [{ setting: ALONE, operation: 'ruled_request', keys: uniform, callers: 1 }] as const;
    return context.compare([
      ...(await context.contend(sharedMemory, 'relaxed', settings)),
      ...(await context.contend(memory, 'relaxed', settings)),
      ...modsecurity(context),
    ]);
  },
};

function modsecurity(context: RunContext) {
  context.say('building the C++ program');
  try {
    return [modsecurityContender(buildModsecurity(context.directory()), KEYS, ALONE)];
  } catch (error) {
    context.skip(MODSECURITY_TITLE, `needs a C++ compiler and libmodsecurity-dev: ${firstLine(error)}`);
    return [];
  }
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 2).at(-1) ?? '';
}
