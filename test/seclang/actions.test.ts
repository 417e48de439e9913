import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { type MemoryBackend, openMemory } from '../../src/backend/memory/memory.js';
import { Collections, type Transaction } from '../../src/collections/index.js';
import { compileActions, type DiagnosticCounts, type ResolveMacro } from '../../src/seclang/index.js';
import { ManualClock } from '../collections/manual-clock.js';

let clock: ManualClock;
let backend: MemoryBackend;
let collections: Collections;
let tx: Transaction;

beforeEach(() => {
  clock = new ManualClock();
  backend = openMemory({ cleanupInterval: 0 });
  collections = new Collections({ backend, clock });
  tx = collections.begin();
});

const nothing: ResolveMacro = () => undefined;

/** Applies one action list and gives the counts that are not 0. */
function apply(text: string, resolve: ResolveMacro = nothing): Partial<DiagnosticCounts> {
  const plan = compileActions(text);
  plan.apply(tx, resolve);
  return Object.fromEntries(Object.entries(plan.diagnostics.snapshot()).filter(([, count]) => count > 0));
}

describe('initcol, setsid, setuid, setrsc', () => {
  test('bind each collection, and publish the key of those that have a name', () => {
    expect(
      apply('initcol:ip=%{REMOTE_ADDR}_1,initcol:global=all,setsid:s,setuid:u,setrsc:r', (variable) =>
        variable === 'REMOTE_ADDR' ? '192.0.2.1' : undefined,
      ),
    ).toEqual({});
    expect(tx.get('ip', 'KEY')).toBe('192.0.2.1_1');
    expect([tx.sessionId, tx.userId, tx.resource, tx.get('global', 'KEY')]).toEqual(['s', 'u', 'r', 'all']);
  });

  test('take apostrophes around the whole value and around the key', () => {
    apply("initcol:ip='127.0.0.1',initcol:'GLOBAL=a,b'");
    expect([tx.get('ip', 'KEY'), tx.get('global', 'KEY')]).toEqual(['127.0.0.1', 'a,b']);
  });

  test('the first binding stays, a second key is counted and shown', () => {
    expect(apply('setsid:one,setvar:session.n=+1,setsid:two,setvar:session.n=+1')).toEqual({
      alreadyBound: 1,
    });
    expect([tx.sessionId, tx.get('session', 'KEY'), tx.get('session', 'n')]).toEqual(['two', 'one', '2']);
  });

  test('an empty key binds nothing', () => {
    expect(apply('initcol:ip=%{REMOTE_ADDR},setvar:ip.n=1')).toEqual({ emptyKey: 1, unboundCollection: 1 });
    expect(tx.isBound('ip')).toBe(false);
  });

  test('a key of 1024 bytes is itself, a longer one its SHA-256', () => {
    expect(apply('initcol:ip=%{K}', () => 'k'.repeat(1024))).toEqual({});
    expect(apply('initcol:global=%{K}', () => 'k'.repeat(1025))).toEqual({ digestedKey: 1 });
    expect(tx.get('global', 'KEY')).toMatch(/^[0-9a-f]{64}$/);
  });

  test('keys are bytes', () => {
    apply('initcol:ip=%{K}', () => Uint8Array.of(0xff, 0x61));
    apply('initcol:global=é');
    expect(tx.get('global', 'KEY')).toBe('é');
    apply('setvar:global.copy=%{IP.v}x,setvar:ip.v=%{V},setvar:global.copy=%{IP:v}x', () =>
      Uint8Array.of(0xfe),
    );
    expect(tx.getBytes('global', 'copy')).toEqual(Buffer.of(0xfe, 0x78));
  });
});

describe('setvar', () => {
  test('sets, counts and removes, in order, each seeing what was before it', () => {
    apply(
      'initcol:ip=a,setvar:ip.one,setvar:ip.n=5,setvar:ip.n=+3,setvar:ip.n=-1,setvar:tx.n=%{ip.N},setvar:!ip.one,setvar:ip.empty=',
    );
    expect(tx.list('ip')).toEqual([
      ['empty', ''],
      ['n', '7'],
    ]);
    expect(tx.get('tx', 'n')).toBe('7');
  });

  test('reads the sign before the macros', () => {
    apply('setvar:tx.a=%{V},setvar:tx.b=+%{V},setvar:tx.c=-%{V}', () => '-2');
    expect([tx.get('tx', 'a'), tx.get('tx', 'b'), tx.get('tx', 'c')]).toEqual(['-2', '-2', '2']);
  });

  test('reads numbers by the rule of add', () => {
    apply('setvar:tx.a=+12x,setvar:tx.b=+abc,setvar:tx.c=+%{V}', () => '99999999999999999999');
    expect([tx.get('tx', 'a'), tx.get('tx', 'b'), tx.get('tx', 'c')]).toEqual(['12', '0', '0']);
  });

  test('has macros in the name too', () => {
    apply("setvar:'tx.%{RULE.id}-%{MATCHED_VAR_NAME}=%{tx.0}'", (variable, key) => `${variable}/${key}`);
    expect(tx.list('tx')).toEqual([['rule/id-matched_var_name/undefined', '']]);
  });

  test.each(['ip', 'tx'] as const)('saturates in %s', (scope) => {
    const max = String(2n ** 63n - 1n);
    expect(apply(`initcol:ip=a,setvar:${scope}.n=${max},setvar:${scope}.n=+2`)).toEqual({ saturated: 1 });
    expect(tx.get(scope, 'n')).toBe(max);
    expect(apply(`setvar:${scope}.n=-${max},setvar:${scope}.n=-${max},setvar:${scope}.n=-9`)).toEqual({
      saturated: 1,
    });
    expect(tx.get(scope, 'n')).toBe(String(-(2n ** 63n)));
  });

  test('saturates on top of what others stored meanwhile', async () => {
    const most = String(2n ** 63n - 1n);
    const plan = compileActions('initcol:ip=shared,setvar:ip.n=+%{V},setvar:ip.failures=+1');
    const transactions = [collections.begin(), collections.begin()];
    for (const transaction of transactions) plan.apply(transaction, () => most);
    for (const transaction of transactions) await transaction.processLogging();
    const after = collections.begin();
    after.bindSync('ip', 'shared');
    expect(after.list('ip')).toEqual([
      ['failures', '2'],
      ['n', most],
    ]);
  });

  test('runs once for each matched value, what else there is once', () => {
    const plan = compileActions('initcol:ip=%{V},setvar:ip.n=+1,setvar:ip.%{V}=1,expirevar:ip.%{V}=0');
    plan.apply(
      tx,
      () => 'a',
      () => 'b',
      () => 'c',
    );
    expect(tx.list('ip')).toEqual([
      ['b', '1'],
      ['c', '1'],
      ['n', '3'],
    ]);
    expect(plan.diagnostics.snapshot().alreadyBound).toBe(0);
  });
});

describe('expirevar and deprecatevar', () => {
  test('end a value on time', () => {
    apply('initcol:ip=a,setvar:ip.n=1,expirevar:ip.n=%{S},setvar:ip.now=1,expirevar:ip.now=0', () => '0.5');
    expect(tx.list('ip')).toEqual([['n', '1']]);
    clock.advance(0.5);
    expect(tx.count('ip')).toBe(0);
  });

  test('let a value decay', async () => {
    apply('initcol:ip=a,setvar:ip.n=5');
    await tx.processLogging();
    clock.advance(120);
    apply('deprecatevar:ip.n=2/60');
    expect(tx.get('ip', 'n')).toBe('1');
  });

  test('count what a macro makes of their numbers', () => {
    const bad = (value: string) => apply('expirevar:ip.n=%{V},deprecatevar:ip.n=1/%{V}', () => value);
    apply('initcol:ip=a,setvar:ip.n=5');
    for (const value of ['', '-1', 'x', '315360001', '1e3', '9'.repeat(5000)]) {
      expect(bad(value)).toEqual({ invalidNumber: 2 });
    }
    expect(bad('315360000')).toEqual({});
    expect(apply('deprecatevar:ip.n=%{V}/60', () => '0')).toEqual({ invalidNumber: 1 });
    expect(tx.get('ip', 'n')).toBe('5');
  });
});

describe('facts of a record', () => {
  test('TIMEOUT is set, and removed', () => {
    apply('initcol:ip=a,setvar:ip.TIMEOUT=60');
    expect(tx.get('ip', 'TIMEOUT')).toBe('60');
    apply('setvar:!ip.TIMEOUT');
    expect(tx.get('ip', 'TIMEOUT')).toBeUndefined();
    expect(apply('setvar:ip.TIMEOUT=%{V}', () => 'x')).toEqual({ invalidNumber: 1 });
  });

  test('as the target of anything else they are counted', () => {
    const fact = () => 'KEY';
    apply('initcol:ip=a');
    expect(apply('expirevar:ip.TIMEOUT=60,deprecatevar:ip.KEY=1/60')).toEqual({ factTarget: 2 });
    expect(apply('setvar:ip.%{V}=1,setvar:ip.%{V}=+1,setvar:!ip.%{V}', fact)).toEqual({ factTarget: 3 });
    expect(apply('expirevar:ip.timeout=60,setvar:ip.key=1,setvar:tx.KEY=1')).toEqual({});
    expect(tx.list('ip')).toEqual([['key', '1']]);
  });
});

describe('limits', () => {
  beforeEach(() => {
    collections = new Collections({
      backend,
      clock,
      limits: { valueBytes: 8, nameBytes: 8, variables: 3, recordBytes: 24, mutations: 10 },
    });
    tx = collections.begin();
  });

  test('drop one action alone, and what is flushed is the rest', async () => {
    const long = () => 'x'.repeat(9);
    expect(
      apply(
        'initcol:ip=a,setvar:ip.a=1,setvar:ip.b=%{V},setvar:ip.%{V}=1,setvar:ip.%{V}=+1,setvar:!ip.%{V},setvar:ip.c=1',
        long,
      ),
    ).toEqual({ droppedByLimit: 4 });
    expect(
      apply('setvar:ip.d=1,setvar:ip.e=1,setvar:ip.e=+1,expirevar:ip.f=9,setvar:tx.%{V}=%{V}', long),
    ).toEqual({
      droppedByLimit: 4,
    });
    await tx.processLogging();
    expect(tx.list('ip').map(([name]) => name)).toEqual(['a', 'c', 'd']);
  });

  test('hold for the bytes of a record', async () => {
    expect(apply('initcol:ip=a,setvar:ip.a=12345678,setvar:ip.b=12345678,setvar:ip.c=12345678')).toEqual({
      droppedByLimit: 1,
    });
    expect(apply('setvar:!ip.a,setvar:ip.c=12345678')).toEqual({});
    await tx.processLogging();
    expect(tx.list('ip').map(([name]) => name)).toEqual(['b', 'c']);
  });

  test('hold for names that are only a deadline', async () => {
    expect(apply('initcol:ip=a,expirevar:ip.a=9,expirevar:ip.b=9,expirevar:ip.c=9,setvar:ip.d=1')).toEqual({
      droppedByLimit: 1,
    });
    await tx.processLogging();
  });

  test('hold for mutations, at the cost of one refusal', async () => {
    const plan = compileActions('initcol:ip=a,setvar:ip.n=+1,setvar:tx.n=+1');
    plan.apply(tx, nothing, ...Array.from({ length: 20_000 }, () => nothing));
    expect(plan.diagnostics.snapshot().droppedByLimit).toBe(20_001 - 10);
    expect([tx.get('ip', 'n'), tx.get('tx', 'n')]).toEqual(['10', '20001']);
    await tx.processLogging();
  });
});

test('the effects of a rule are one unit', () => {
  const plan = compileActions('initcol:ip=a,setvar:ip.n=1,setvar:tx.n=1,setvar:ip.m=%{X}');
  expect(() =>
    plan.apply(tx, () => {
      throw new RangeError('the engine of the rules failed');
    }),
  ).toThrow(RangeError);
  expect([tx.isBound('ip'), tx.count('tx')]).toEqual([false, 0]);
});

test('what the transaction knows is not asked of the resolver', () => {
  const asked: string[] = [];
  const ask: ResolveMacro = (variable, key) => {
    asked.push(key === undefined ? variable : `${variable}.${key}`);
    return 'v';
  };
  apply(
    'setsid:s,setvar:tx.a=%{SESSIONID}%{USERID}%{tx.b}%{Session.KEY}%{session:x}%{Args:A.b}%{REMOTE_ADDR}',
    ask,
  );
  expect(asked).toEqual(['ARGS.A.b', 'REMOTE_ADDR']);
  expect(tx.get('tx', 'a')).toBe('ssvv');
});

test('any value that a client sends leaves the record able to be stored', async () => {
  const plan = compileActions(
    "initcol:ip=%{A},setvar:ip.%{A}=%{B},setvar:ip.%{B}=+%{C},setvar:ip.c=-%{C},expirevar:ip.%{A}=%{C},deprecatevar:'ip.%{A}=%{C}/%{B}'",
  );
  const value = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('KEY', 'TIMEOUT', '9223372036854775807', '-9223372036854775808', '-1', '0', '60'),
    fc.uint8Array(),
    fc.constant('x'.repeat(40_000)),
  );
  await fc.assert(
    fc.asyncProperty(value, value, value, async (a, b, c) => {
      using transaction = collections.begin();
      for (let round = 0; round < 3; round++)
        plan.apply(transaction, (variable) => ({ A: a, B: b, C: c })[variable]);
      await transaction.processLogging();
    }),
    { numRuns: 300 },
  );
});
