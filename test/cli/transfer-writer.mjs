// Increments counters until it is killed, and prints after each round how often each was acknowledged.
import { DEFAULT_LIMITS, openLmdb, systemClock } from 'wafstate';

const backend = await openLmdb({ path: process.argv[2], cleanupInterval: 0 });
const acknowledged = Array.from({ length: 300 }, () => 0);
for (;;) {
  await Promise.all(
    acknowledged.map(async (_, index) => {
      const record = { space: 1, applicationId: '', key: `counter ${index}` };
      const mutations = [
        { type: 'add', name: 'count', delta: 1n },
        // Of changing length, so that pages are taken and given back all the time.
        { type: 'set', name: 'load', value: 'x'.repeat((acknowledged[index] * 37 + index * 101) % 3000) },
      ];
      await backend.commit([{ record, expect: 'any', mutations }], {
        now: systemClock.now(),
        limits: DEFAULT_LIMITS,
      });
      acknowledged[index]++;
    }),
  );
  process.stdout.write(`${JSON.stringify(acknowledged)}\n`);
}
