import { describe, expect, it } from 'vitest';
import { closedLoop, type Operation } from '../../bench/load/closed-loop.js';
import { Keys } from '../../bench/load/keys.js';

const uniform = () => new Keys({ kind: 'uniform', count: 8 }).round();
const drawn = (operations: number) => new Keys({ kind: 'drawn', count: 8, operations }).round();

describe('closed loop', () => {
  it('never has more operations under way than callers', async () => {
    let underWay = 0;
    let most = 0;
    const operation: Operation = async () => {
      underWay++;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay--;
    };
    const sample = await closedLoop(operation, uniform(), { callers: 10, milliseconds: 30 });
    expect(most).toBe(10);
    expect(underWay).toBe(0);
    expect(sample.acknowledged).toBeGreaterThanOrEqual(sample.operations);
    expect(sample.operations).toBeGreaterThan(0);
  });

  it('ends with its keys, each used once', async () => {
    for (const operation of [() => undefined, () => Promise.resolve()]) {
      let calls = 0;
      const counted: Operation = () => {
        calls++;
        return operation();
      };
      const sample = await closedLoop(counted, drawn(500), { callers: 7, milliseconds: 60_000 });
      expect([calls, sample.operations, sample.acknowledged]).toEqual([500, 500, 500]);
    }
  });

  it('counts all that a group commit settles at once', async () => {
    let waiting: ((value?: unknown) => void)[] = [];
    const settle = () => {
      const settled = waiting;
      waiting = [];
      for (const each of settled) each();
    };
    const operation: Operation = () =>
      new Promise((resolve) => {
        if (waiting.push(resolve) === 1) setTimeout(settle, 20);
      });
    const sample = await closedLoop(operation, uniform(), { callers: 1000, milliseconds: 1 });
    expect(sample.operations).toBe(1000);
  });

  it('rejects with the first failure', async () => {
    const failure = new Error('no');
    const operation: Operation = () => Promise.reject(failure);
    await expect(closedLoop(operation, uniform(), { callers: 3, milliseconds: 1000 })).rejects.toBe(failure);
    const throwing: Operation = () => {
      throw failure;
    };
    await expect(closedLoop(throwing, uniform(), { callers: 3, milliseconds: 1000 })).rejects.toBe(failure);
  });
});
