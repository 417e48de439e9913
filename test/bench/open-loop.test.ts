import { describe, expect, it } from 'vitest';
import { Keys } from '../../bench/load/keys.js';
import { openLoop } from '../../bench/load/open-loop.js';

const uniform = () => new Keys({ kind: 'uniform', count: 8 }).round();

/** Stands still for a while, as a collection of garbage does. */
function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

describe('open loop', () => {
  it('counts a stop of the subject against every operation that fell due in it', async () => {
    let calls = 0;
    const operation = () => {
      if (calls++ === 10) block(100);
      return undefined;
    };
    const { latency, eventLoopDelay } = await openLoop(operation, uniform(), {
      rate: 1000,
      milliseconds: 200,
    });
    // Half of the time was spent in the stop or in catching up: a closed loop would have one slow operation in 200.
    expect(latency.p99).toBeGreaterThan(80_000);
    expect(eventLoopDelay.p99).toBeGreaterThan(80_000);
    expect(calls).toBe(200);
  });

  it('tells when a subject cannot keep up', async () => {
    const operation = () => {
      block(5);
      return undefined;
    };
    const sample = await openLoop(operation, uniform(), { rate: 1000, milliseconds: 100 });
    expect(sample.saturated).toBe(true);
    expect(sample.achieved).toBeLessThan(400);
  });

  it('rejects with the first failure', async () => {
    const failure = new Error('no');
    const failing = openLoop(() => Promise.reject(failure), uniform(), { rate: 1000, milliseconds: 50 });
    await expect(failing).rejects.toBe(failure);
  });
});
