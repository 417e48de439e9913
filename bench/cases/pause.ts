import type { BenchCase } from '../bench-case.js';
import type { OpenSample } from '../load/open-loop.js';
import type { Result } from '../report.js';
import { spread } from '../statistics.js';
import type { SubjectProcess } from '../subject-process.js';
import { rateLimiterMemory } from '../subjects/rate-limiter-memory.js';
import { memory } from '../subjects/wafstate-memory.js';
import { sharedMemory } from '../subjects/wafstate-shared-memory.js';

/** Counters per second: about a tenth of what the slower engine can do, so that its queue is not what is measured. */
const RATE = 50_000;
const ROUNDS = 3;

export const pause: BenchCase = {
  id: 'pause',
  title: 'How long the event loop stands still',
  chart: 'figures',
  unit: 'µs, p99.9 of the event-loop delay',
  describe: ({ liveRecords }) =>
    `${liveRecords.toLocaleString('en')} live records, ${RATE.toLocaleString('en')} counters a second on them at random, at a fixed rate. The delay is how late ` +
    'the event loop would come to something due at every tenth of a millisecond, so a long stop counts for every moment that it ' +
    'lasts. It shows what garbage collection does with a large heap.',
  run: async (context) => {
    const { liveRecords, pauseMs } = context.scale;
    const processes: SubjectProcess[] = [];
    const samples = new Map<SubjectProcess, OpenSample[]>();
    try {
      for (const subject of [sharedMemory, memory, rateLimiterMemory]) {
        const process = await context.start(subject);
        if (process === undefined) continue;
        processes.push(process);
        samples.set(process, []);
        context.say(`${subject.title}, filling`);
        await process.call('fill', { operation: 'counter', from: 0, to: liveRecords });
      }
      const milliseconds = pauseMs / ROUNDS;
      // A little more than will be due, for rounding.
      const operations = Math.ceil((RATE * milliseconds) / 1000) + 1;
      const keys = { kind: 'drawn', count: liveRecords, operations } as const;
      for (let round = 1; round <= ROUNDS; round++) {
        for (const process of processes) {
          context.say(`${process.subject.title}, round ${round} of ${ROUNDS}`);
          const load = { operation: 'counter', keys, rate: RATE, milliseconds } as const;
          samples.get(process)?.push(await process.call('openLoop', load));
        }
      }
    } finally {
      for (const process of processes) await process.close();
    }
    return processes.map(({ subject }, index): Result => {
      const rounds = samples.get(processes[index] as SubjectProcess) ?? [];
      return {
        subject: subject.id,
        title: subject.title,
        role: subject.role,
        setting: `${liveRecords.toLocaleString('en')} records`,
        opsPerSecond: spread(rounds.map(({ achieved }) => achieved)),
        latency: (rounds[0] as OpenSample).latency,
        figure: spread(rounds.map(({ eventLoopDelay }) => eventLoopDelay.p999)),
        ...(rounds.some(({ saturated }) => saturated) && { note: 'could not keep up with the rate' }),
      };
    });
  },
};
