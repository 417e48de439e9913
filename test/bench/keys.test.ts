import { describe, expect, it } from 'vitest';
import { address, type KeySource, Keys, TRAFFIC_ADDRESSES } from '../../bench/load/keys.js';

function all(source: KeySource): string[] {
  const keys: string[] = [];
  for (let key = source.next(); key !== undefined; key = source.next()) keys.push(key);
  return keys;
}

describe('keys of the load', () => {
  it('numbers addresses from 10.0.0.0', () => {
    expect([0, 1, 256, 65_536].map(address)).toEqual(['10.0.0.0', '10.0.0.1', '10.0.1.0', '10.1.0.0']);
  });

  it('gives every subject the same sequence', () => {
    const set = { kind: 'traffic', operations: 2000 } as const;
    expect(all(new Keys(set).round())).toEqual(all(new Keys(set).round()));
  });

  it('draws uniform keys from the known ones only, and all of them', () => {
    const keys = new Keys({ kind: 'uniform', count: 16 });
    const source = keys.round();
    const drawn = new Set(Array.from({ length: 2000 }, () => source.next()));
    expect([...drawn].sort()).toEqual(keys.known().sort());
  });

  it('makes a fifth of the traffic new addresses, none of them twice, in no round', () => {
    const keys = new Keys({ kind: 'traffic', operations: 50_000 });
    const known = new Set(keys.known());
    const fresh = [...all(keys.round()), ...all(keys.round())].filter((key) => !known.has(key));
    expect(new Set(fresh).size).toBe(fresh.length);
    expect(fresh.length / 100_000).toBeCloseTo(0.2, 2);
  });

  it("draws known addresses by Zipf's law", () => {
    const keys = new Keys({ kind: 'traffic', operations: 200_000 });
    const counts = new Map<string, number>();
    const drawn = all(keys.round());
    for (const key of drawn) counts.set(key, (counts.get(key) ?? 0) + 1);
    let harmonic = 0;
    for (let rank = 1; rank <= TRAFFIC_ADDRESSES; rank++) harmonic += 1 / rank;
    for (const rank of [1, 2, 10]) {
      const expected = (0.8 * drawn.length) / rank / harmonic;
      const got = counts.get(address(rank - 1)) ?? 0;
      expect(Math.abs(got - expected) / expected).toBeLessThan(0.1);
    }
  });
});
