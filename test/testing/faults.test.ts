import { describe, expect, it } from 'vitest';
import { type Backend, openMemory } from 'wafstate';
import { conformance } from 'wafstate/testing';
import { collect, failuresOf, type ListedTest } from './collecting-runner.js';
import { FAULTY_COMMITS } from './faulty-commits.js';
import { FAULTY_READS } from './faulty-reads.js';
import { altered } from './mutants.js';

const sound = () => openMemory({ cleanupInterval: 0 });
const { features } = sound();

function testsOf(make: (backend: Backend) => Backend): ListedTest[] {
  return collect((runner) => {
    conformance(runner, { name: 'engine', features, open: async () => make(sound()), histories: 10 });
  });
}

const HISTORIES = 'random histories';

describe('a sound engine', () => {
  it('passes every test, also behind the wrapper that the faulty ones use', async () => {
    const tests = testsOf((backend) => altered(backend, {}));
    expect(tests.length).toBeGreaterThan(150);
    expect(await failuresOf(tests)).toEqual([]);
  });
});

describe('an engine that', () => {
  for (const { fault, area, rule, make } of [...FAULTY_COMMITS, ...FAULTY_READS]) {
    it(`${fault} fails under '${area}'`, async () => {
      const tests = testsOf(make).filter(({ headings }) => headings.includes(area));
      expect(tests.length).toBeGreaterThan(0);
      const failed = (await failuresOf(tests)).map(({ test }) => test.name);
      expect(failed).not.toEqual([]);
      if (rule !== undefined) expect(failed).toContain(rule);
    });
  }
});

describe('the random histories alone', () => {
  it('find most of the faults that a sequence of calls can show, and name seed and step', async () => {
    const found: string[] = [];
    for (const { fault, make } of [...FAULTY_COMMITS, ...FAULTY_READS]) {
      const tests = testsOf(make).filter(({ headings }) => headings.includes(HISTORIES));
      const [first] = await failuresOf(tests);
      if (first === undefined) continue;
      found.push(fault);
      expect(String(first.error)).toMatch(/step \d+ of the history with seed \d+ departs from the model/);
    }
    expect(found.length).toBeGreaterThanOrEqual(30);
  });
});
