import type { BenchCase } from '../bench-case.js';
import { TRAFFIC_ADDRESSES } from '../load/keys.js';
import type { OperationName } from '../subject.js';
import { rateLimiterMemory } from '../subjects/rate-limiter-memory.js';
import { memory } from '../subjects/wafstate-memory.js';
import { sharedMemory } from '../subjects/wafstate-shared-memory.js';

export const CALLERS = [1, 64] as const;

export function callersSetting(callers: number): string {
  return `${callers.toLocaleString('en')} ${callers === 1 ? 'caller' : 'callers'}`;
}

function memoryCase(operation: OperationName, id: string, title: string, what: string): BenchCase {
  return {
    id,
    title,
    chart: 'rates',
    grouped: true,
    describe: ({ trafficOperations }) =>
      `${what} Rounds of ${trafficOperations.toLocaleString('en')} operations on ${TRAFFIC_ADDRESSES.toLocaleString('en')} known addresses, Zipf ` +
      '1.0, 20 % of operations from addresses never seen before. rate-limiter-flexible consumes one point in every case. ' +
      'No limit is reached, since its refusals are slower than its consent.',
    run: async (context) => {
      const keys = { kind: 'traffic', operations: context.scale.trafficOperations } as const;
      const settings = CALLERS.map((callers) => ({
        setting: callersSetting(callers),
        operation,
        keys,
        callers,
      }));
      return context.compare([
        ...(await context.contend(sharedMemory, 'relaxed', settings)),
        ...(await context.contend(memory, 'relaxed', settings)),
        ...(await context.contend(rateLimiterMemory, 'relaxed', settings)),
      ]);
    },
  };
}

export const requestMemory = memoryCase(
  'request',
  'request_memory',
  'One request in memory',
  'One request of a firewall: begin, bind ip and global, read 2, add 2, expire 1, processLogging.',
);

export const counterMemory = memoryCase(
  'counter',
  'counter_memory',
  'One counter in memory',
  'One counter with a window and a limit: collections.increment.',
);
