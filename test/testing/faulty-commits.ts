import { type ByteString, type CommitResult, type Mutation, type RecordWrite, WafStateError } from 'wafstate';
import { altered, type Mutant, misreporting, rewriting } from './mutants.js';

/** Steps that take the place of one step. */
function replacing(write: RecordWrite, replace: (mutation: Mutation) => readonly Mutation[]): RecordWrite {
  return { ...write, mutations: write.mutations.flatMap(replace) };
}

/** Faults of `commit`. */
export const FAULTY_COMMITS: readonly Mutant[] = [
  {
    fault: 'loses increments: it reads, computes, and then writes',
    area: 'concurrency',
    make: (sound) =>
      rewriting(sound, async (write, { now, limits }) => {
        const { variables } = await sound.load(write.record, now, limits);
        return replacing(write, (mutation) => {
          if (mutation.type !== 'add') return [mutation];
          const sum = BigInt(variables.get(mutation.name)?.value ?? '0') + mutation.delta;
          return [{ type: 'set', name: mutation.name, value: String(sum) as ByteString }];
        });
      }),
  },
  {
    fault: 'ignores the expected revision',
    area: 'conflicts',
    make: (sound) => rewriting(sound, (write) => ({ ...write, expect: 'any' })),
  },
  {
    fault: "takes 'absent' for 'any'",
    area: 'conflicts',
    make: (sound) =>
      rewriting(sound, (write) => ({ ...write, expect: write.expect === 'absent' ? 'any' : write.expect })),
  },
  {
    fault: 'publishes a batch step by step',
    area: 'atomicity',
    make: (sound) =>
      altered(sound, {
        commit: async (writes, options) => {
          if (writes.length !== 1) return sound.commit(writes, options);
          const [write] = writes as readonly [RecordWrite];
          const results: CommitResult[] = [];
          for (const mutation of write.mutations.length === 0 ? [undefined] : write.mutations) {
            const mutations = mutation === undefined ? [] : [mutation];
            const expect = results.length === 0 ? write.expect : 'any';
            results.push(...(await sound.commit([{ ...write, expect, mutations }], options)));
          }
          const last = results.at(-1) as CommitResult;
          return [{ ...last, values: new Map(results.flatMap(({ values }) => [...values])) }];
        },
      }),
  },
  {
    fault: 'publishes several records one by one',
    area: 'several records in one commit',
    make: (sound) =>
      altered(sound, {
        commit: async (writes, options) => {
          const results: CommitResult[] = [];
          for (const write of writes) results.push(...(await sound.commit([write], options)));
          return results;
        },
      }),
  },
  {
    fault: 'keeps the deadline of a removed variable',
    area: 'mutations',
    make: (sound) =>
      rewriting(sound, async (write, { now, limits }) => {
        const { variables } = await sound.load(write.record, now, limits, true);
        return replacing(write, (mutation) => {
          if (mutation.type !== 'remove') return [mutation];
          const deadline = variables.get(mutation.name)?.deadline;
          if (deadline === undefined) return [mutation];
          return [mutation, { type: 'expire', name: mutation.name, deadline, onlyIfNone: false }];
        });
      }),
  },
  {
    fault: 'adds to an expired counter',
    area: 'expiry',
    make: (sound) =>
      rewriting(sound, async (write, { now, limits }) => {
        const { variables } = await sound.load(write.record, now, limits, true);
        return replacing(write, (mutation) => {
          const stored = mutation.type === 'add' ? variables.get(mutation.name) : undefined;
          if (mutation.type !== 'add' || stored?.deadline === undefined || stored.deadline > now)
            return [mutation];
          const sum = BigInt(stored.value ?? '0') + mutation.delta;
          return [{ type: 'set', name: mutation.name, value: String(sum) as ByteString }];
        });
      }),
  },
  {
    fault: 'renews the deadline that should be set only if there is none',
    area: 'mutations',
    make: (sound) =>
      rewriting(sound, (write) =>
        replacing(write, (mutation) =>
          mutation.type === 'expire' ? [{ ...mutation, onlyIfNone: false }] : [mutation],
        ),
      ),
  },
  {
    fault: 'resets the decay clock with every set',
    area: 'decay',
    make: (sound) =>
      rewriting(sound, (write) =>
        replacing(write, (mutation) =>
          mutation.type === 'set' ? [{ type: 'remove', name: mutation.name }, mutation] : [mutation],
        ),
      ),
  },
  {
    fault: 'lets decay count to the time of the commit',
    area: 'decay',
    make: (sound) =>
      rewriting(sound, (write, { now }) =>
        replacing(write, (mutation) => [mutation.type === 'deprecate' ? { ...mutation, at: now } : mutation]),
      ),
  },
  {
    fault: 'holds sums at the bounds of 64 bits',
    area: 'arithmetic',
    make: (sound) =>
      altered(sound, {
        commit: async (writes, options) => {
          try {
            return await sound.commit(writes, options);
          } catch (error) {
            if (!(error instanceof WafStateError) || error.code !== 'capacity_exceeded') throw error;
            const clamped = writes.map((write) =>
              replacing(write, (mutation) =>
                mutation.type === 'add' || mutation.type === 'subtract' ? [] : [mutation],
              ),
            );
            return sound.commit(clamped, options);
          }
        },
      }),
  },
  {
    fault: 'does not go below zero',
    area: 'arithmetic',
    make: (sound) =>
      rewriting(sound, async (write, { now, limits }) => {
        const { variables } = await sound.load(write.record, now, limits);
        return replacing(write, (mutation) => {
          if (mutation.type !== 'subtract') return [mutation];
          const value = Number.parseInt(variables.get(mutation.name)?.value ?? '0', 10);
          return value < Number(mutation.delta)
            ? [{ type: 'set', name: mutation.name, value: '0' as ByteString }]
            : [mutation];
        });
      }),
  },
  {
    fault: 'gives every commit the timeout, and not only the one that creates the record',
    area: 'timeout',
    make: (sound) =>
      rewriting(sound, (write) => ({
        ...write,
        mutations:
          write.timeout === undefined
            ? write.mutations
            : [...write.mutations, { type: 'timeout', duration: write.timeout }],
      })),
  },
  {
    fault: 'does not check the size of a record',
    area: 'limits',
    make: (sound) =>
      altered(sound, {
        commit: (writes, options) =>
          sound.commit(writes, {
            ...options,
            limits: { ...options.limits, variables: 65_535, recordBytes: 64 * 2 ** 20 },
          }),
      }),
  },
  {
    fault: 'does not check the number of mutations',
    area: 'limits',
    make: (sound) =>
      altered(sound, {
        commit: (writes, options) =>
          sound.commit(writes, { ...options, limits: { ...options.limits, mutations: 65_535 } }),
      }),
  },
  {
    fault: 'ignores the deadline of a commit',
    area: 'lifecycle',
    make: (sound) =>
      altered(sound, { commit: (writes, { now, limits }) => sound.commit(writes, { now, limits }) }),
  },
  {
    fault: 'tells the touched variables in the wrong order',
    area: 'mutations',
    make: (sound) =>
      misreporting(sound, (result) => ({ ...result, values: new Map([...result.values].reverse()) })),
  },
  {
    fault: 'tells that every record was there before',
    area: 'mutations',
    make: (sound) => misreporting(sound, (result) => ({ ...result, existed: true })),
  },
  {
    fault: 'rejects with an error of its own kind',
    area: 'conflicts',
    make: (sound) =>
      altered(sound, {
        commit: async (writes, options) => {
          try {
            return await sound.commit(writes, options);
          } catch (cause) {
            throw new Error('something went wrong', { cause });
          }
        },
      }),
  },
];
