import { EventEmitter, once } from 'node:events';
import { beforeEach, describe, expect, test } from 'vitest';
import { openMemory } from '../../src/backend/memory/memory.js';
import { Collections, type Transaction } from '../../src/collections/index.js';
import type { Limits } from '../../src/contract/limits.js';
import { FaultBackend } from './fault-backend.js';
import { ManualClock } from './manual-clock.js';

let tx: Transaction;

async function begin(limits: Partial<Limits> = {}): Promise<Transaction> {
  const begun = new Collections({ backend: openMemory(), clock: new ManualClock(), limits }).begin();
  await begun.bind('ip', 'k');
  return begun;
}

beforeEach(async () => {
  tx = await begin();
});

describe('rollback', () => {
  test.each([[undefined], [null], [{}], [{ live: true, epoch: 0 }]])(
    'refuses what is no mark: %j',
    (mark) => {
      tx.add('ip', 'n', 1);
      const forged = mark && { ...mark, owner: tx };
      expect(() => tx.rollback(forged as never)).toThrow(expect.objectContaining({ code: 'unsupported' }));
      expect(tx.list('ip')).toEqual([['n', '1']]);
    },
  );

  test('undoes mutations of every collection, in the view and in what the flush sends', async () => {
    await tx.bind('user', 'u');
    tx.add('ip', 'n', 1);
    const mark = tx.checkpoint();
    tx.add('ip', 'n', 10);
    tx.set('user', 'x', '1');
    tx.removeRecord('ip');
    tx.set('ip', 'TIMEOUT', 5);
    expect(tx.count('ip')).toBe(0);
    tx.rollback(mark);
    expect([tx.list('ip'), tx.count('user'), tx.get('ip', 'TIMEOUT')]).toEqual([[['n', '1']], 0, undefined]);
    const flushed = await tx.processLogging();
    expect(Object.keys(flushed)).toEqual(['ip']);
    expect(flushed.ip?.values).toEqual(new Map([['n', '1']]));
  });

  test('undoes TX: what was set, changed and removed', () => {
    tx.set('tx', 'kept', '1');
    tx.set('tx', 'changed', '1');
    tx.set('tx', 'removed', '1');
    const mark = tx.checkpoint();
    tx.add('tx', 'changed', 5);
    tx.remove('tx', 'removed');
    tx.set('tx', 'new', '1');
    tx.set('tx', 'new', '2');
    tx.rollback(mark);
    expect(tx.list('tx')).toEqual([
      ['changed', '1'],
      ['kept', '1'],
      ['removed', '1'],
    ]);
  });

  test('keeps bindings made before the mark, undoes those made since', async () => {
    const mark = tx.checkpoint();
    await tx.setUser('u1');
    tx.add('user', 'n', 1);
    tx.rollback(mark);
    expect([tx.isBound('ip'), tx.isBound('user'), tx.userId]).toEqual([true, false, undefined]);
    await tx.setUser('u2');
    expect([tx.facts('user').key, tx.count('user'), tx.userId]).toEqual(['u2', 0, 'u2']);
  });

  test('a binding under way is undone, and says so', async () => {
    const mark = tx.checkpoint();
    const bind = tx.bind('user', 'u');
    tx.rollback(mark);
    await expect(bind).rejects.toMatchObject({ code: 'not_initialized' });
    await tx.bind('user', 'other');
  });

  test('restores the key last given', async () => {
    await tx.setSession('s1');
    const mark = tx.checkpoint();
    await expect(tx.setSession('s2')).rejects.toMatchObject({ code: 'already_bound' });
    tx.rollback(mark);
    expect(tx.sessionId).toBe('s1');
  });

  test('to an outer mark undoes the inner ones, and ends them; a mark may be used again', () => {
    const outer = tx.checkpoint();
    tx.set('tx', 'a', '1');
    tx.add('ip', 'n', 1);
    const inner = tx.checkpoint();
    tx.set('tx', 'a', '2');
    tx.set('tx', 'b', '2');
    tx.add('ip', 'n', 1);
    tx.rollback(inner);
    expect([tx.get('tx', 'a'), tx.get('tx', 'b'), tx.get('ip', 'n')]).toEqual(['1', undefined, '1']);
    tx.set('tx', 'b', '3');
    tx.rollback(inner);
    expect(tx.get('tx', 'b')).toBeUndefined();
    tx.set('tx', 'b', '4');
    tx.rollback(outer);
    expect([tx.count('tx'), tx.count('ip')]).toEqual([0, 0]);
    tx.set('tx', 'a', '5');
    tx.rollback(outer);
    expect(tx.count('tx')).toBe(0);
    expect(() => tx.rollback(inner)).toThrow(expect.objectContaining({ code: 'unsupported' }));
  });

  test('to an outer mark restores what was there before the outer one', () => {
    tx.set('tx', 'a', '0');
    const outer = tx.checkpoint();
    tx.set('tx', 'a', '1');
    tx.checkpoint();
    tx.set('tx', 'a', '2');
    tx.rollback(outer);
    expect(tx.get('tx', 'a')).toBe('0');
  });

  test('refuses a mark of another transaction', async () => {
    const other = await begin();
    expect(() => tx.rollback(other.checkpoint())).toThrow(expect.objectContaining({ code: 'unsupported' }));
  });

  test('refuses a mark from before a flush that sent something; an idle flush ends none', async () => {
    const first = tx.checkpoint();
    await tx.processLogging();
    tx.rollback(first);
    tx.add('ip', 'n', 1);
    const second = tx.checkpoint();
    await tx.processLogging();
    expect(() => tx.rollback(second)).toThrow(expect.objectContaining({ code: 'unsupported' }));
    const third = tx.checkpoint();
    tx.add('ip', 'n', 1);
    tx.rollback(third);
    expect(tx.get('ip', 'n')).toBe('1');
  });

  test('during a flush undoes only what came after it began', async () => {
    const backend = new FaultBackend();
    const gate = new EventEmitter();
    backend.faults.push({
      at: 'commit',
      before: async () => {
        await once(gate, 'open');
      },
    });
    const slow = new Collections({ backend, clock: new ManualClock() }).begin();
    await slow.bind('ip', 'k');
    slow.add('ip', 'n', 1);
    const flush = slow.processLogging();
    const mark = slow.checkpoint();
    slow.add('ip', 'n', 10);
    expect(slow.get('ip', 'n')).toBe('11');
    slow.rollback(mark);
    expect(slow.get('ip', 'n')).toBe('1');
    slow.add('ip', 'n', 100);
    gate.emit('open');
    expect((await flush).ip?.values.get('n')).toBe('1');
    expect(slow.get('ip', 'n')).toBe('101');
    expect((await slow.processLogging()).ip?.values.get('n')).toBe('101');
  });

  test('makes room in the log again', async () => {
    tx = await begin({ mutations: 2 });
    const mark = tx.checkpoint();
    for (let round = 0; round < 5; round++) {
      tx.add('ip', 'n', 1);
      tx.add('ip', 'n', 1);
      expect(() => tx.add('ip', 'n', 1)).toThrow(expect.objectContaining({ code: 'capacity_exceeded' }));
      tx.rollback(mark);
    }
  });
});

describe('TX', () => {
  test('adds by the rules of a collection', () => {
    tx.set('tx', 'n', ' +12x');
    tx.add('tx', 'n', 1);
    tx.subtract('TX', 'M', 3n);
    tx.set('tx', 'text', 'abc');
    tx.add('tx', 'text', 1);
    expect(tx.list('tx')).toEqual([
      ['m', '-3'],
      ['n', '13'],
      ['text', '1'],
    ]);
    tx.set('tx', 'n', 2n ** 63n - 1n);
    expect(() => tx.add('tx', 'n', 1)).toThrow(expect.objectContaining({ code: 'capacity_exceeded' }));
    expect(tx.get('tx', 'n')).toBe('9223372036854775807');
  });

  test('is bounded in variables and bytes like a record, and what does not fit changes nothing', async () => {
    tx = await begin({ variables: 2, recordBytes: 10 });
    tx.set('tx', 'a', '1234');
    tx.set('tx', 'b', '12');
    expect(() => tx.set('tx', 'c', '')).toThrow(
      expect.objectContaining({
        code: 'capacity_exceeded',
        details: { space: 'tx', option: 'variables', limit: 2, actual: 3 },
      }),
    );
    expect(() => tx.set('tx', 'b', '12345')).toThrow(
      expect.objectContaining({
        code: 'capacity_exceeded',
        details: { space: 'tx', option: 'recordBytes', limit: 10, actual: 11 },
      }),
    );
    tx.set('tx', 'b', '1234');
    tx.remove('tx', 'a');
    tx.remove('tx', 'none');
    tx.set('tx', 'c', '1234');
    expect(tx.count('tx')).toBe(2);
  });

  test('counts its bytes through a rollback', async () => {
    tx = await begin({ recordBytes: 10 });
    tx.set('tx', 'a', '1234');
    const mark = tx.checkpoint();
    tx.set('tx', 'a', '123456789');
    tx.rollback(mark);
    tx.set('tx', 'b', '1234');
    expect(() => tx.set('tx', 'b', '12345')).toThrow(expect.objectContaining({ code: 'capacity_exceeded' }));
  });
});
