import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ByteString } from '../../src/contract/bytes.js';
import { DeadlineQueue } from '../../src/store/kind/deadline-queue.js';

test('a queue of deadlines gives what a sorted map would', () => {
  const key = fc.constantFrom(...'abcdefghijklmnop'.split(''));
  const deadline = fc.option(fc.bigInt({ min: 0n, max: 30n }), { nil: undefined });
  fc.assert(
    fc.property(
      fc.array(fc.record({ key, deadline }), { maxLength: 80 }),
      fc.bigInt({ min: 0n, max: 31n }),
      (steps, now) => {
        const queue = new DeadlineQueue();
        const model = new Map<string, bigint>();
        for (const step of steps) {
          queue.set(step.key as ByteString, step.deadline);
          if (step.deadline === undefined) model.delete(step.key);
          else model.set(step.key, step.deadline);
          const due = [...model].filter(([, at]) => at <= now).map(([name]) => name);
          expect([...queue.due(now)].sort()).toEqual(due.sort());
        }
      },
    ),
    { numRuns: 300 },
  );
});
