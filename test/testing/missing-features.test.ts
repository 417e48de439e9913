import { describe, expect, it } from 'vitest';
import { type Backend, type Feature, openMemory, WafStateError } from 'wafstate';
import { conformance } from 'wafstate/testing';
import { collect, failuresOf } from './collecting-runner.js';
import { altered } from './mutants.js';

const sound = () => openMemory({ cleanupInterval: 0 });
const ALL = [...sound().features];

function refuse(what: string): never {
  throw new WafStateError('missing_feature', `this engine has no ${what}`);
}

/** The memory engine without a feature: it refuses what needs it. */
function without(feature: Feature): Backend {
  const inner = sound();
  const lesser = altered(inner, { features: new Set(ALL.filter((each) => each !== feature)) });
  const checkingCommits = (refused: Backend['commit']): Backend => ({ ...lesser, commit: refused });
  switch (feature) {
    case 'server_side_rebase':
      return checkingCommits(async (writes, options) =>
        writes.some(({ expect }) => expect === 'any') ? refuse(feature) : inner.commit(writes, options),
      );
    case 'optimistic_revisions':
      return checkingCommits(async (writes, options) =>
        writes.some(({ expect }) => expect !== 'any') ? refuse(feature) : inner.commit(writes, options),
      );
    case 'multi_record_atomicity':
      return checkingCommits(async (writes, options) =>
        writes.length > 1 ? refuse(feature) : inner.commit(writes, options),
      );
    case 'per_variable_expiry':
      return checkingCommits(async (writes, options) =>
        writes.some(({ mutations }) => mutations.some(({ type }) => type === 'expire'))
          ? refuse(feature)
          : inner.commit(writes, options),
      );
    case 'hard_deadlines':
      return checkingCommits(async (writes, options) =>
        options.deadline !== undefined ? refuse(feature) : inner.commit(writes, options),
      );
    case 'ordered_scan':
      return { ...lesser, scan: async () => refuse(feature) };
    case 'bounded_cleanup':
      return { ...lesser, cleanup: async () => refuse(feature) };
    case 'synchronous_load': {
      const { loadSync: _, ...rest } = lesser;
      return rest;
    }
    default:
      return lesser;
  }
}

describe('an engine without', () => {
  for (const feature of ALL) {
    it(`${feature} passes what is left`, async () => {
      const features = ALL.filter((each) => each !== feature);
      const tests = collect((runner) => {
        conformance(runner, { name: 'lesser', features, open: async () => without(feature), histories: 5 });
      });
      expect(await failuresOf(tests)).toEqual([]);
    });
  }

  it.each<Feature>([
    'server_side_rebase',
    'optimistic_revisions',
    'multi_record_atomicity',
    'per_variable_expiry',
    'hard_deadlines',
    'ordered_scan',
    'bounded_cleanup',
    'synchronous_load',
  ])('%s must refuse it, and not do it unannounced', async (feature) => {
    const features = ALL.filter((each) => each !== feature);
    const open = async () => altered(sound(), { features: new Set(features) });
    const tests = collect((runner) => conformance(runner, { name: 'silent', features, open, histories: 0 }));
    const failed = (await failuresOf(tests)).map(({ test }) => test.name);
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.every((name) => name.includes(feature))).toBe(true);
  });

  it('reopen cannot claim durable_storage', () => {
    const subject = { name: 'forgetful', features: ['durable_storage'] as const, open: async () => sound() };
    expect(() => collect((runner) => conformance(runner, subject))).toThrow('reopen');
  });
});
