import assert from 'node:assert/strict';
import { SECOND } from '../../contract/clock.js';
import { Session } from '../session.js';
import { bytes, deprecate, expire, removeRecord, set } from '../steps.js';
import type { Suite } from '../suite.js';

/** What is acknowledged is there after the engine was closed and opened again. Needs `durable_storage`. */
export function durability(suite: Suite): void {
  if (!suite.has('durable_storage')) return;
  const { reopen } = suite.subject;
  if (reopen === undefined) {
    throw new TypeError(`${suite.subject.name} has durable_storage: its tests need a reopen beside open`);
  }

  const again = async (s: Session, body: (s: Session) => Promise<void>): Promise<void> => {
    await s.backend.close();
    const backend = await reopen();
    const session = new Session(backend);
    session.now = s.now;
    try {
      await body(session);
    } finally {
      await backend.close();
    }
  };

  suite.area('durability', () => {
    suite.rule('keeps values, deadlines, clocks, facts and revisions', async (s) => {
      await s.write('k', [set('n', '42'), set('text', '\0\xff')], { timeout: 60n * SECOND });
      if (s.has('per_variable_expiry')) {
        await s.write('k', [expire('n', s.in(10)), expire('pending', s.in(20))]);
      }
      const before = await s.load('k', true);
      await again(s, async (t) => {
        assert.deepEqual(await t.load('k', true), before);
        if (!t.has('per_variable_expiry')) return;
        t.wait(10);
        assert.deepEqual(await t.values('k'), { text: '\0\xff' });
      });
    });

    suite.rule('keeps a decay clock running', async (s) => {
      await s.write('k', [set('x', '100')]);
      s.wait(15);
      await again(s, async (t) => {
        await t.write('k', [deprecate('x', 1n, 10n * SECOND, t.now)]);
        t.wait(5);
        const { values } = await t.write('k', [deprecate('x', 1n, 10n * SECOND, t.now)]);
        assert.equal(values.get(bytes('x'))?.value, '98');
      });
    });

    suite.rule('keeps a removed record removed', async (s) => {
      await s.write('k', [set('x', '1')]);
      await s.write('k', [removeRecord()]);
      await again(s, async (t) => assert.equal(await t.revision('k'), 0));
    });

    suite.rule('never uses a revision again, also not of a removed record', async (s) => {
      const { revision } = await s.write('k', [set('x', '1')]);
      await s.write('k', [removeRecord()]);
      await again(s, async (t) => {
        assert.ok((await t.write('k', [set('x', '1')])).revision > revision);
      });
    });
  });
}
