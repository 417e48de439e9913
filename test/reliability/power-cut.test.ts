import { describe, expect, it } from 'vitest';
import { IMPLEMENTATIONS } from '../backend/lmdb/implementations.js';
import { torture } from './script.js';

/** Samples of what `npm run torture -- --power-cuts 1` does at every point. */
describe.each(IMPLEMENTATIONS)('a power cut, %s', (implementation) => {
  it('takes nothing acknowledged from a durable environment, which opens', async () => {
    const sample = ['--durability', 'durable', '--power-cuts', '0.08', '--milliseconds', '100'];
    const [run] = await torture(`--${implementation}`, ...sample);
    expect(run).toMatchObject({ faults: [], refused: 0, crashed: 0, damaged: 0, older: 0 });
    expect(run?.['sound']).toBeGreaterThan(0);
  }, 120_000);

  it('leaves a relaxed environment sound or refused, and never one that crashes the process', async () => {
    const sample = ['--durability', 'relaxed', '--power-cuts', '0.01', '--milliseconds', '100'];
    const [run] = await torture(`--${implementation}`, ...sample);
    expect(run).toMatchObject({ faults: [], crashed: 0, damaged: 0 });
  }, 120_000);
});
