import { describe, expect, it } from 'vitest';
import type { RecordWrite } from '../../src/contract/backend.js';
import type { ByteString } from '../../src/contract/bytes.js';
import { WafStateError } from '../../src/contract/errors.js';
import type { Mutation } from '../../src/contract/mutation.js';
import { BatchExecutor, nextRevision, type RecordSource } from '../../src/record/batch.js';
import { encodeKey } from '../../src/record/key.js';
import { ReplyReader } from '../../src/record/reply.js';
import { NO_MUTATION, Status } from '../../src/record/status.js';
import { typescriptCodec } from '../../src/record/typescript/codec.js';
import { requestBytes, soundPair } from './pairs.js';
import { Random } from './random.js';

const text = (value: string): ByteString => value as ByteString;
const LIMITS = { recordBytes: 1000, variables: 10 };
const NOW = 5n;

const write = (key: string, ...mutations: Mutation[]): RecordWrite => ({
  record: { space: 1, applicationId: text(''), key: text(key) },
  expect: 'any',
  mutations,
});
const add = (name: string, delta = 1n): Mutation => ({ type: 'add', name: text(name), delta });
const remove: Mutation = { type: 'removeRecord' };
const overflow = [add('n', 2n ** 63n - 1n), add('n', 1n)];

/** A store as an engine has it: what a batch read and wrote can be looked at. */
class Store implements RecordSource {
  readonly records = new Map<string, Buffer>();
  readonly reads: string[] = [];
  revision = 100;

  read(key: Buffer): Uint8Array | undefined {
    this.reads.push(key.toString('latin1'));
    return this.records.get(key.toString('latin1'));
  }

  takeRevision(): number {
    return ++this.revision;
  }

  /** One answer a request: its revisions, or the code of its error. */
  run(
    requests: readonly (readonly RecordWrite[])[],
    before?: (batch: BatchExecutor) => void,
  ): (string | number[])[] {
    const executor = new BatchExecutor(
      Buffer.concat(requests.map((writes) => requestBytes(writes, NOW, LIMITS))),
    );
    before?.(executor);
    executor.execute(this);
    for (const { key, record } of executor.changes()) {
      if (record === undefined) this.records.delete(key.toString('latin1'));
      else this.records.set(key.toString('latin1'), record);
    }
    const reader = new ReplyReader(executor.reply());
    const answers = requests.map((writes) => {
      const answer = reader.next(writes);
      return answer instanceof WafStateError ? answer.code : answer.map(({ revision }) => revision);
    });
    expect(reader.done).toBe(true);
    return answers;
  }

  value(key: string, name: string): string | undefined {
    const bytes = this.records.get(encodeKey(write(key).record).toString('latin1'));
    return bytes === undefined ? undefined : typescriptCodec.decode(bytes).variables.get(text(name))?.value;
  }
}

describe('a batch', () => {
  it('lets each request see what those before it have done', () => {
    const store = new Store();
    expect(store.run([[write('a', add('n'))], [write('a', add('n'))], [write('a', add('n'))]])).toEqual([
      [101],
      [102],
      [103],
    ]);
    expect(store.value('a', 'n')).toBe('3');
  });

  it('reads a record once that it has changed', () => {
    const store = new Store();
    store.run([[write('a', add('n'))], [write('a', add('n'))]]);
    expect(store.reads).toHaveLength(1);
  });

  it('begins a new record where the request before has removed it', () => {
    const store = new Store();
    store.run([[write('a', add('n'))]]);
    store.run([[write('a', remove)], [write('a', add('n'))]]);
    expect(store.value('a', 'n')).toBe('1');
  });

  it('leaves neighbours of a failing request alone, in the order of the requests', () => {
    const store = new Store();
    const answers = store.run([
      [write('a', add('n'))],
      [write('a', ...overflow)],
      [write('a', add('n'))],
      [{ ...write('b'), expect: 9 }],
    ]);
    expect(answers).toEqual([[101], 'capacity_exceeded', [103], 'conflict']);
    expect(store.value('a', 'n')).toBe('2');
    expect(store.value('b', 'n')).toBeUndefined();
  });

  it('applies the records of a request all or none', () => {
    const store = new Store();
    store.run([[write('a', add('n')), write('b', add('n'))]]);
    const answers = store.run([[write('a', add('n')), write('c', add('n')), write('b', ...overflow)]]);
    expect(answers).toEqual(['capacity_exceeded']);
    expect([store.value('a', 'n'), store.value('b', 'n'), store.value('c', 'n')]).toEqual([
      '1',
      '1',
      undefined,
    ]);
  });

  it('names the write that failed', () => {
    const executor = new BatchExecutor(
      requestBytes([write('a', add('n')), write('b', add('m'), ...overflow)], NOW, LIMITS),
    );
    executor.execute(new Store());
    expect(new ReplyReader(executor.reply()).nextRefusal()).toEqual({
      status: Status.overflow,
      write: 1,
      mutation: 2,
      limit: 0,
      actual: 0,
    });
  });

  it('is refused where one record stands twice in a request, and the next is not', () => {
    const store = new Store();
    expect(store.run([[write('a', add('n')), write('a', add('n'))], [write('a', add('n'))]])).toEqual([
      'invalid_mutation',
      [101],
    ]);
    expect(store.value('a', 'n')).toBe('1');
  });

  it('gives its changes once a key, in byte order, and none for what came and went', () => {
    const store = new Store();
    store.run([[write('old', add('n'))]]);
    const requests = [
      [write('b', add('n'))],
      [write('came', add('n'))],
      [write('a', add('n'))],
      [write('old', remove)],
      [write('came', remove)],
      [write('b', add('n'))],
      [write('never', remove)],
    ];
    const executor = new BatchExecutor(
      Buffer.concat(requests.map((writes) => requestBytes(writes, NOW, LIMITS))),
    );
    executor.execute(store);
    expect(
      executor.changes().map(({ key, record }) => [key.subarray(2).toString(), record !== undefined]),
    ).toEqual([
      ['a', true],
      ['b', true],
      ['old', false],
    ]);
  });

  it('answers refused requests and leaves them out; malformed ones keep their answer', () => {
    const full = { status: Status.mapFull, write: 0, mutation: NO_MUTATION, limit: 4096, actual: 0 } as const;
    const store = new Store();
    const twice = [write('c', add('n')), write('c', add('n'))];
    const answers = store.run([[write('a', add('n'))], [write('b', add('n'))], twice], (batch) => {
      batch.refuse(1, full);
      batch.refuse(2, full);
    });
    expect(answers).toEqual([[101], 'capacity_exceeded', 'invalid_mutation']);
    expect(store.records.size).toBe(1);
  });

  it('starts over when it is executed again', () => {
    const store = new Store();
    const executor = new BatchExecutor(
      Buffer.concat([
        requestBytes([write('a', add('n'))], NOW, LIMITS),
        requestBytes([write('b', add('n'))], NOW, LIMITS),
      ]),
    );
    executor.execute(store);
    expect([executor.applied(0), executor.applied(1)]).toEqual([true, true]);
    executor.refuse(0, { status: Status.mapFull, write: 0, mutation: NO_MUTATION, limit: 1, actual: 0 });
    executor.execute(store);
    expect([executor.applied(0), executor.applied(1)]).toEqual([false, true]);
    expect(executor.changes().map(({ key }) => key.subarray(2).toString())).toEqual(['b']);
    const reader = new ReplyReader(executor.reply());
    expect(reader.nextRefusal()?.status).toBe(Status.mapFull);
    expect(reader.nextRefusal()).toBeUndefined();
  });

  it('tells by how much the records of a request grew', () => {
    const store = new Store();
    store.run([[write('a', add('n'))]]);
    const size = store.records.values().next().value?.length as number;
    const requests = [
      [write('a', add('n'))],
      [write('a', { type: 'set', name: text('v'), value: text('12345') })],
      [write('b', add('n'))],
      [write('a', remove)],
      [write('a', ...overflow)],
    ];
    const executor = new BatchExecutor(
      Buffer.concat(requests.map((writes) => requestBytes(writes, NOW, LIMITS))),
    );
    expect(executor.requests).toBe(5);
    executor.execute(store);
    // A variable: three bytes of header, its name, and, as `12345` is one, an integer.
    const grown = 3 + 1 + 8;
    expect([0, 1, 2, 3, 4].map((request) => executor.growth(request))).toEqual([
      0,
      grown,
      size,
      -(size + grown),
      0,
    ]);
  });

  it('is one malformed request where nothing can be read', () => {
    const executor = new BatchExecutor(Buffer.from([1, 2, 3]));
    executor.execute(new Store());
    expect(new ReplyReader(executor.reply()).nextRefusal()?.status).toBe(Status.malformed);
    expect(executor.changes()).toEqual([]);
  });

  it('runs out of revisions with an error, and still removes', () => {
    const store = new Store();
    store.run([[write('a', add('n'))], [write('b', add('n'))]]);
    store.revision = Number.MAX_SAFE_INTEGER;
    expect(store.run([[write('a', add('n'))], [write('c', add('n'))], [write('b', remove)]])).toEqual([
      'capacity_exceeded',
      'capacity_exceeded',
      [0],
    ]);
    expect(store.records.size).toBe(1);
  });

  it('equals one apply after the other on any requests of one write', () => {
    const random = new Random(21);
    for (let round = 0; round < 200; round++) {
      const pairs = Array.from({ length: 6 }, () => soundPair(random)).map((pair) => ({
        ...pair,
        write: { ...pair.write, record: random.pick([write('a').record, write('b').record]) },
      }));
      const store = new Store();
      const alone = new Map<string, Uint8Array>();
      const answers: Uint8Array[] = [];
      pairs.forEach((pair, index) => {
        const key = encodeKey(pair.write.record).toString('latin1');
        const applied = typescriptCodec.apply(
          alone.get(key),
          requestBytes([pair.write], pair.now, pair.limits),
          101 + index,
        );
        answers.push(applied.answer);
        if (applied.answer[4] !== Status.applied) return;
        if (applied.record === undefined) alone.delete(key);
        else alone.set(key, applied.record);
      });
      const executor = new BatchExecutor(
        Buffer.concat(pairs.map((pair) => requestBytes([pair.write], pair.now, pair.limits))),
      );
      executor.execute(store);
      expect(executor.reply()).toEqual(Buffer.concat(answers));
      const changed = executor.changes().filter(({ record }) => record !== undefined);
      expect(changed.map(({ key, record }) => [key.toString('latin1'), record])).toEqual(
        [...alone].sort(([a], [b]) => (a < b ? -1 : 1)),
      );
    }
  });
});

describe('nextRevision', () => {
  it('is above the last and not below the clock', () => {
    const clock = Date.now() * 1000;
    expect(nextRevision(1)).toBeGreaterThanOrEqual(clock);
    expect(nextRevision(2 ** 52)).toBe(2 ** 52 + 1);
  });
});
