import assert from 'node:assert/strict';
import { ABI_VERSION, type RecordWrite } from '../../contract/backend.js';
import { record, rejectsKind } from '../session.js';
import { add, expire } from '../steps.js';
import type { Suite } from '../suite.js';

/** The features are what was declared, and what is not advertised is refused rather than done by halves. */
export function features(suite: Suite): void {
  suite.area('features', () => {
    suite.rule('are those that the test declares', async ({ backend }) => {
      assert.deepEqual([...backend.features].sort(), [...suite.subject.features].sort());
    });

    suite.rule('come with the version of the interface and a name', async ({ backend }) => {
      assert.equal(backend.abiVersion, ABI_VERSION);
      assert.ok(typeof backend.name === 'string' && backend.name.length > 0);
    });

    suite.rule('have loadSync if and only if synchronous_load', async ({ backend }) => {
      assert.equal(typeof backend.loadSync === 'function', suite.has('synchronous_load'));
    });

    suite.rule('have commitSync if and only if synchronous_commit', async ({ backend }) => {
      assert.equal(typeof backend.commitSync === 'function', suite.has('synchronous_commit'));
      if (backend.countSync !== undefined) {
        assert.ok(suite.has('synchronous_commit') && suite.has('server_side_rebase'));
      }
    });

    if (!suite.has('server_side_rebase')) {
      suite.rule("without server_side_rebase refuse 'any'", async (s) => {
        await rejectsKind(() => s.write('k', [add('n', 1n)], { expect: 'any' }), 'invalid');
      });
    }
    if (!suite.has('optimistic_revisions')) {
      suite.rule('without optimistic_revisions refuse an expected revision', async (s) => {
        await rejectsKind(() => s.write('k', [add('n', 1n)], { expect: 'absent' }), 'invalid');
        await rejectsKind(() => s.write('k', [add('n', 1n)], { expect: 1 }), 'invalid');
      });
    }
    if (!suite.has('multi_record_atomicity')) {
      suite.rule('without multi_record_atomicity refuse several records in one commit', async (s) => {
        const write = (key: string): RecordWrite => ({
          record: record(key),
          expect: suite.forAbsent,
          mutations: [add('n', 1n)],
        });
        await rejectsKind(() => s.commit([write('a'), write('b')]), 'invalid');
        assert.equal(await s.revision('a'), 0);
        assert.equal(await s.revision('b'), 0);
      });
    }
    if (!suite.has('per_variable_expiry')) {
      suite.rule('without per_variable_expiry refuse expire', async (s) => {
        await rejectsKind(() => s.write('k', [add('n', 1n), expire('n', s.in(60))]), 'invalid');
        assert.equal(await s.revision('k'), 0);
      });
    }
    if (!suite.has('ordered_scan')) {
      suite.rule('without ordered_scan refuse scan', async (s) => {
        await rejectsKind(() => s.scan(), 'invalid');
      });
    }
    if (!suite.has('bounded_cleanup')) {
      suite.rule('without bounded_cleanup refuse cleanup', async (s) => {
        await rejectsKind(() => s.backend.cleanup(s.now, { records: 1, variables: 1 }), 'invalid');
      });
    }
  });
}
