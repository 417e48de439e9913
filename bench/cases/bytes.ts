import type { BenchCase } from '../bench-case.js';
import type { Result } from '../report.js';
import { spread } from '../statistics.js';
import { rateLimiterMemory } from '../subjects/rate-limiter-memory.js';
import { memory } from '../subjects/wafstate-memory.js';
import { sharedMemory } from '../subjects/wafstate-shared-memory.js';

export const bytes: BenchCase = {
  id: 'bytes',
  title: 'Memory of a record',
  chart: 'figures',
  unit: 'bytes per record',
  describe: ({ liveRecords }) =>
    `Growth of resident memory, garbage collected before and after, by ${liveRecords.toLocaleString('en')} records of one counter with a window.`,
  run: async (context) => {
    const { liveRecords } = context.scale;
    const results: Result[] = [];
    for (const subject of [sharedMemory, memory, rateLimiterMemory]) {
      const process = await context.start(subject);
      if (process === undefined) continue;
      try {
        // Code and tables that the first records bring are no record's cost.
        await process.call('fill', { operation: 'counter', from: liveRecords, to: liveRecords + 1000 });
        const before = await process.call('memory');
        context.say(`${subject.title}, filling`);
        await process.call('fill', { operation: 'counter', from: 0, to: liveRecords });
        const after = await process.call('memory');
        results.push({
          subject: subject.id,
          title: subject.title,
          role: subject.role,
          setting: `${liveRecords.toLocaleString('en')} records`,
          residentBytes: after,
          figure: spread([(after - before) / liveRecords]),
        });
      } finally {
        await process.close();
      }
    }
    return results;
  },
};
