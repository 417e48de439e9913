import { describe, expect, it } from 'vitest';
import { IMPLEMENTATIONS } from '../backend/lmdb/implementations.js';
import { torture } from './script.js';

/** A sample of what `npm run torture -- --power-cuts 1` does at every point. */
const SAMPLE = ['--power-cuts', '0.08', '--milliseconds', '100'];

describe.each(IMPLEMENTATIONS)('a power cut, %s', (implementation) => {
  it('takes nothing acknowledged from a durable environment, which opens', async () => {
    const [run] = await torture(`--${implementation}`, '--durability', 'durable', ...SAMPLE);
    expect(run).toMatchObject({ faults: [], refused: 0, crashed: 0, damaged: 0, older: 0 });
    expect(run?.['sound']).toBeGreaterThan(0);
  });

  it('leaves a relaxed environment that opens or is refused, and does not take the process down', async () => {
    const [run] = await torture(`--${implementation}`, '--durability', 'relaxed', ...SAMPLE);
    expect(run).toMatchObject({ faults: [], crashed: 0 });
    expect(run?.['copies']).toBeGreaterThan(0);
  });
});
