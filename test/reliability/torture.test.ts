import { describe, expect, it } from 'vitest';
import { IMPLEMENTATIONS } from '../backend/lmdb/implementations.js';
import { torture } from './script.js';

describe.each(IMPLEMENTATIONS)('kill -9, %s', (implementation) => {
  it.each(['durable', 'relaxed'])(
    'at any step loses nothing acknowledged and tears no batch, %s',
    async (durability) => {
      const [run] = await torture(`--${implementation}`, '--durability', durability, '--rounds', '5');
      expect(run).toMatchObject({ faults: [], rounds: 5 });
      expect(run?.['acknowledged']).toBeGreaterThan(0);
    },
    180_000,
  );
});
