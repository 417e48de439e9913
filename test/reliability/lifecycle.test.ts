import { describe, expect, it } from 'vitest';
import { Collections, DEFAULT_LIMITS, type Transaction, WafStateError } from 'wafstate';
import { add, counted, ENGINES, type Engine, NOW, RECORD } from './engines.js';

/**
 * Every public method in every stage of a life, with what it must do there.
 *
 *     opening    the same state is being opened once more, and that is not done
 *     open       nothing else goes on
 *     busy       commits, a cleanup and a scan are under way
 *     draining   close() was called and has not resolved; commits accepted before it are
 *     closed     close() has resolved
 *
 * `ok` is what the method promises; a code is the error that it rejects with, or throws where it is synchronous.
 */
const STAGES = ['opening', 'open', 'busy', 'draining', 'closed'] as const;
type Stage = (typeof STAGES)[number];
type Cell = 'ok' | 'closed' | 'not_initialized' | 'unsupported';
type Row = readonly [opening: Cell, open: Cell, busy: Cell, draining: Cell, closed: Cell];

const METHODS: readonly (readonly [string, Row, (engine: Engine) => unknown])[] = [
  ['load', ['ok', 'ok', 'ok', 'closed', 'closed'], (engine) => engine.load(RECORD, NOW, DEFAULT_LIMITS)],
  [
    'loadSync',
    ['ok', 'ok', 'ok', 'closed', 'closed'],
    (engine) => engine.loadSync(RECORD, NOW, DEFAULT_LIMITS),
  ],
  ['commit', ['ok', 'ok', 'ok', 'closed', 'closed'], (engine) => add(engine)],
  [
    'commit of nothing',
    ['ok', 'ok', 'ok', 'closed', 'closed'],
    (engine) => engine.commit([], { now: NOW, limits: DEFAULT_LIMITS }),
  ],
  [
    'cleanup',
    ['ok', 'ok', 'ok', 'closed', 'closed'],
    (engine) => engine.cleanup(NOW, { records: 8, variables: 8 }),
  ],
  ['scan', ['ok', 'ok', 'ok', 'closed', 'closed'], (engine) => engine.scan({ now: NOW, limit: 8 })],
  ['stats', ['ok', 'ok', 'ok', 'closed', 'closed'], (engine) => engine.stats()],
  ['close', ['ok', 'ok', 'ok', 'ok', 'ok'], (engine) => engine.close()],
];

/** What came of a call: `ok`, or the code of a typed error. Anything else is thrown on. */
async function outcome(call: () => unknown): Promise<string> {
  try {
    await call();
    return 'ok';
  } catch (error) {
    if (error instanceof WafStateError) return error.code;
    throw error;
  }
}

function changed(tx: Transaction): Transaction {
  tx.add('user', 'n', 1);
  return tx;
}

let number = 0;

describe.each(ENGINES)('$name', ({ open, shared, asynchronous }) => {
  /** The engine in that stage, and what must settle before the test ends. */
  async function bring(stage: Stage): Promise<{ engine: Engine; pending: Promise<unknown>[]; own: number }> {
    const own = ++number;
    const engine = await open(own);
    const pending: Promise<unknown>[] = [];
    if (stage === 'opening') pending.push(open(own).then((second) => second.close()));
    if (stage === 'busy' || stage === 'draining') {
      for (let i = 0; i < 64; i++) pending.push(add(engine));
      pending.push(
        engine.cleanup(NOW, { records: 64, variables: 64 }),
        engine.scan({ now: NOW, limit: 100 }),
      );
    }
    if (stage === 'draining') pending.push(engine.close());
    if (stage === 'closed') await engine.close();
    return { engine, pending, own };
  }

  it.each(STAGES.map((stage, column) => ({ stage, column })))(
    'does in every method what the table says, $stage',
    async ({ stage, column }) => {
      const { engine, pending } = await bring(stage);
      // Side by side, so that all of them meet the stage; close is the last.
      const found = await Promise.all(METHODS.map(([, , call]) => outcome(() => call(engine))));
      const expected = METHODS.map(([name, row]) => [name, row[column]]);
      expect(METHODS.map(([name], index) => [name, found[index]])).toEqual(expected);
      await Promise.all(pending);
      await engine.close();
    },
  );

  it('settles what was accepted before close, and nothing after', async () => {
    const { engine, pending, own } = await bring('draining');
    const late = await Promise.all(Array.from({ length: 8 }, () => outcome(() => add(engine))));
    expect(late).toEqual(Array.from({ length: 8 }, () => 'closed'));
    await Promise.all(pending);
    if (!asynchronous) return;
    const again = await open(own);
    expect(counted(again.loadSync(RECORD, NOW, DEFAULT_LIMITS))).toBe(64);
    await again.close();
  });

  it('opens and closes in any order, many times over one state', async () => {
    const own = ++number;
    for (let round = 0; round < 5; round++) {
      const engines = await Promise.all(Array.from({ length: 3 }, () => open(own)));
      await Promise.all(engines.map((engine) => add(engine)));
      const closings = engines.map((engine, index) => (index % 2 === 0 ? engine.close() : undefined));
      const second = engines[1] as Engine;
      await add(second);
      if (shared) expect(counted(second.loadSync(RECORD, NOW, DEFAULT_LIMITS)) % 4).toBe(0);
      await Promise.all(closings);
      await second.close();
    }
  });

  describe('under Collections', () => {
    /** Every method of a transaction whose `user` is bound; `session` is not. */
    const CALLS: readonly (readonly [string, (tx: Transaction) => unknown, TransactionRow])[] = [
      ['bind', (tx) => tx.bind('session', 's'), ['ok', 'ok', 'ok', 'closed', 'closed']],
      ['bind again', (tx) => tx.bind('user', 'u'), ['ok', 'ok', 'ok', 'ok', 'closed']],
      ['bindSync', (tx) => tx.bindSync('session', 's'), ['ok', 'ok', 'ok', 'closed', 'closed']],
      ['setSession', (tx) => tx.setSession('s'), ['ok', 'ok', 'ok', 'closed', 'closed']],
      ['setSessionSync', (tx) => tx.setSessionSync('s'), ['ok', 'ok', 'ok', 'closed', 'closed']],
      ['setUser', (tx) => tx.setUser('u'), ['ok', 'ok', 'ok', 'ok', 'closed']],
      ['setUserSync', (tx) => tx.setUserSync('u'), ['not_initialized', 'ok', 'ok', 'ok', 'closed']],
      ['setResource', (tx) => tx.setResource('r'), ['ok', 'ok', 'ok', 'closed', 'closed']],
      ['setResourceSync', (tx) => tx.setResourceSync('r'), ['ok', 'ok', 'ok', 'closed', 'closed']],
      ['sessionId', (tx) => tx.sessionId, ['ok', 'ok', 'ok', 'ok', 'ok']],
      ['userId', (tx) => tx.userId, ['ok', 'ok', 'ok', 'ok', 'ok']],
      ['resource', (tx) => tx.resource, ['ok', 'ok', 'ok', 'ok', 'ok']],
      ['isBound', (tx) => tx.isBound('user'), ['ok', 'ok', 'ok', 'ok', 'ok']],
      ['get', (tx) => tx.get('user', 'n'), ['not_initialized', 'ok', 'ok', 'ok', 'closed']],
      ['getBytes', (tx) => tx.getBytes('user', 'n'), ['not_initialized', 'ok', 'ok', 'ok', 'closed']],
      ['has', (tx) => tx.has('user', 'n'), ['not_initialized', 'ok', 'ok', 'ok', 'closed']],
      ['list', (tx) => tx.list('user'), ['not_initialized', 'ok', 'ok', 'ok', 'closed']],
      ['count', (tx) => tx.count('user'), ['not_initialized', 'ok', 'ok', 'ok', 'closed']],
      ['facts', (tx) => tx.facts('user'), ['not_initialized', 'ok', 'ok', 'ok', 'closed']],
      ['get of tx', (tx) => tx.get('tx', 'n'), ['ok', 'ok', 'ok', 'ok', 'closed']],
      ['set', (tx) => tx.set('user', 'n', 1), ['not_initialized', 'ok', 'ok', 'ok', 'closed']],
      ['set of tx', (tx) => tx.set('tx', 'n', 1), ['ok', 'ok', 'ok', 'ok', 'closed']],
      ['add', (tx) => tx.add('user', 'n', 1), ['not_initialized', 'ok', 'ok', 'ok', 'closed']],
      ['subtract', (tx) => tx.subtract('user', 'n', 1), ['not_initialized', 'ok', 'ok', 'ok', 'closed']],
      ['remove', (tx) => tx.remove('user', 'n'), ['not_initialized', 'ok', 'ok', 'ok', 'closed']],
      ['expire', (tx) => tx.expire('user', 'n', 60), ['not_initialized', 'ok', 'ok', 'ok', 'closed']],
      [
        'deprecate',
        (tx) => tx.deprecate('user', 'n', 1, 60),
        ['not_initialized', 'ok', 'ok', 'ok', 'closed'],
      ],
      ['removeRecord', (tx) => tx.removeRecord('user'), ['not_initialized', 'ok', 'ok', 'ok', 'closed']],
      ['checkpoint and rollback', (tx) => tx.rollback(tx.checkpoint()), ['ok', 'ok', 'ok', 'ok', 'closed']],
      ['flush of nothing', (tx) => tx.flush(), ['ok', 'ok', 'ok', 'ok', 'closed']],
      ['flush', (tx) => changed(tx).flush(), ['not_initialized', 'ok', 'ok', 'closed', 'closed']],
      [
        'processLogging',
        (tx) => changed(tx).processLogging(),
        ['not_initialized', 'ok', 'ok', 'closed', 'closed'],
      ],
      ['lastPersistentFailure', (tx) => tx.lastPersistentFailure(), ['ok', 'ok', 'ok', 'ok', 'ok']],
      ['close', (tx) => tx.close(), ['ok', 'ok', 'ok', 'ok', 'ok']],
    ];
    type TransactionRow = readonly [
      loading: Cell,
      bound: Cell,
      flushing: Cell,
      engineClosed: Cell,
      closed: Cell,
    ];
    const TRANSACTION_STAGES = ['loading', 'bound', 'flushing', 'engine closed', 'closed'] as const;

    it.each(TRANSACTION_STAGES.map((stage, column) => ({ stage, column })))(
      'every method of a transaction that is $stage does what its row says',
      async ({ stage, column }) => {
        const engine = await open(++number);
        const collections = new Collections({ backend: engine });
        const transactions = CALLS.map(() => collections.begin());
        const pending: Promise<unknown>[] = transactions.map((tx) => tx.bind('user', 'u'));
        if (stage !== 'loading') await Promise.all(pending);
        if (stage === 'flushing') pending.push(...transactions.map((tx) => changed(tx).flush()));
        if (stage === 'engine closed') await engine.close();
        if (stage === 'closed') for (const tx of transactions) tx.close();
        const found = await Promise.all(
          CALLS.map(async ([name, call], index) => [
            name,
            await outcome(() => call(transactions[index] as Transaction)),
          ]),
        );
        const expected = CALLS.map(([name, , row]) => [name, row[column]]);
        // A transaction that was closed under its own load or flush hears of it there.
        await Promise.allSettled(pending);
        expect(found).toEqual(expected);
        await engine.close();
      },
    );

    it('takes an engine that is open, and no promise of one', async () => {
      expect(() => new Collections({ backend: open(++number) as never })).toThrow(
        expect.objectContaining({
          code: 'invalid_option',
          message: expect.stringContaining('await openLmdb'),
        }),
      );
      await (await open(number)).close();
      const engine = await open(++number);
      const collections = new Collections({ backend: engine });
      await engine.close();
      expect(await outcome(() => collections.begin())).toBe('ok');
      expect(await outcome(() => collections.increment('ip', 'k', 'n'))).toBe('closed');
    });
  });
});
