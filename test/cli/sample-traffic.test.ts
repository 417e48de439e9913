import { expect, it } from 'vitest';
import { sampleTraffic } from '../../src/cli/sample-traffic.js';

const start = 1_767_225_600_000_000_000n;
const SECOND = 1_000_000_000n;

it('is the same for the same seed, and another for another', () => {
  const one = sampleTraffic({ seed: 7, requests: 5000, start });
  expect(sampleTraffic({ seed: 7, requests: 5000, start })).toEqual(one);
  expect(sampleTraffic({ seed: 8, requests: 5000, start })).not.toEqual(one);
});

it('comes in the order of time, from the start on, and about as much as was asked for', () => {
  const entries = sampleTraffic({ seed: 1, requests: 20_000, start });
  expect(entries.length).toBeGreaterThanOrEqual(20_000);
  expect(entries.length).toBeLessThan(20_100);
  for (const [index, { time }] of entries.entries()) {
    expect(time >= (entries[index - 1]?.time ?? start)).toBe(true);
  }
});

it('has no client but the attackers over 30 requests in any 300 seconds', () => {
  const times = new Map<string, bigint[]>();
  for (const { address, time } of sampleTraffic({ seed: 1, requests: 20_000, start })) {
    times.set(address, [...(times.get(address) ?? []), time]);
  }
  const over = [...times].filter(([, at]) =>
    at.some((time, index) => index >= 30 && time - (at[index - 30] as bigint) < 300n * SECOND),
  );
  expect(over.map(([address]) => address).sort()).toEqual([
    '198.51.100.23',
    '2001:db8:bad::1',
    '203.0.113.200',
    '203.0.113.66',
  ]);
});
