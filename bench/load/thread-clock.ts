import { readFileSync } from 'node:fs';

interface ThreadUsage {
  readonly threadCpuUsage?: () => { readonly user: number; readonly system: number };
}

/**
 * Microseconds of CPU that the calling thread has used so far, without the workers, the garbage collector's helpers and the
 * thread pool, which `process.cpuUsage` mixes in. `undefined` where the system does not tell.
 *
 * Node.js 23.9 and later have process.threadCpuUsage. Before, Linux has it in schedstat; its first number is nanoseconds,
 * brought up to date at the scheduler's tick, so that a span of a tenth of a second is the least to measure with it.
 */
export function threadMicroseconds(): number | undefined {
  const { threadCpuUsage } = process as ThreadUsage;
  if (threadCpuUsage !== undefined) {
    const { user, system } = threadCpuUsage.call(process);
    return user + system;
  }
  if (process.platform !== 'linux') return undefined;
  const [nanoseconds] = readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ');
  return Number(nanoseconds) / 1000;
}
