import assert from 'node:assert/strict';
import { INT64_MAX, INT64_MIN } from '../../contract/clock.js';
import { rejects } from '../session.js';
import { add, set, subtract } from '../steps.js';
import type { Suite } from '../suite.js';

/** What text counts as, by the rule for add and subtract. */
const READINGS: readonly (readonly [text: string, integer: bigint])[] = [
  ['12x', 12n],
  ['1.9', 1n],
  ['abc', 0n],
  ['', 0n],
  [' \t\n\v\f\r12', 12n],
  ['+12', 12n],
  ['-12', -12n],
  ['--12', 0n],
  ['+-12', 0n],
  ['- 12', 0n],
  ['12 13', 12n],
  ['0x10', 0n],
  ['1e3', 1n],
  ['007', 7n],
  ['-0', 0n],
  ['\xa012', 0n],
  ['1\x002', 1n],
  ['\x0012', 0n],
  [`${'0'.repeat(40)}12`, 12n],
  ['9223372036854775807', INT64_MAX],
  ['-9223372036854775808', INT64_MIN],
  ['9223372036854775808', 0n],
  ['-9223372036854775809', 0n],
  ['99999999999999999999999999', 0n],
];

/** Signed 64-bit integers, checked. */
export function arithmetic(suite: Suite): void {
  suite.area('arithmetic', () => {
    suite.rule(
      'takes white space, one sign and the decimal prefix of a value, and all else as 0',
      async (s) => {
        for (const [text, integer] of READINGS) {
          const [step, sum] = integer > 0n ? [subtract('x', 1n), integer - 1n] : [add('x', 1n), integer + 1n];
          await s.write('k', [set('x', text)]);
          await s.write('k', [step]);
          assert.equal(await s.value('k', 'x'), String(sum), `${JSON.stringify(text)} counts as ${integer}`);
        }
      },
    );

    suite.rule('gives the canonical decimal', async (s) => {
      await s.write('k', [set('x', ' +007'), add('x', 0n), set('y', '-0'), subtract('y', 0n)]);
      assert.deepEqual(await s.values('k'), { x: '7', y: '0' });
    });

    suite.rule('goes below zero', async (s) => {
      await s.write('k', [add('x', 3n), subtract('x', 10n)]);
      assert.equal(await s.value('k', 'x'), '-7');
    });

    suite.rule('reaches both bounds of 64 bits exactly', async (s) => {
      await s.write('k', [add('max', INT64_MAX), add('min', INT64_MIN)]);
      await s.write('k', [subtract('max', 1n), add('max', 1n), add('min', 1n), subtract('min', 1n)]);
      assert.deepEqual(await s.values('k'), { max: String(INT64_MAX), min: String(INT64_MIN) });
    });

    suite.rule('keeps exact what a floating point number could not', async (s) => {
      await s.write('k', [add('x', 2n ** 53n)]);
      await s.write('k', [add('x', 1n)]);
      assert.equal(await s.value('k', 'x'), '9007199254740993');
    });

    suite.rule('subtracts the least integer', async (s) => {
      await s.write('k', [set('x', '-1'), subtract('x', INT64_MIN)]);
      assert.equal(await s.value('k', 'x'), String(INT64_MAX));
    });

    suite.rule('holds sums at the bounds where the mutation says so', async (s) => {
      await s.write('k', [set('max', String(INT64_MAX - 1n)), set('min', String(INT64_MIN + 1n))]);
      await s.write('k', [
        add('max', 5n, true),
        add('min', INT64_MIN, true),
        subtract('a', INT64_MIN, true),
        subtract('b', INT64_MAX, true),
        subtract('b', 2n, true),
        add('c', 1n, true),
      ]);
      const [max, min] = [String(INT64_MAX), String(INT64_MIN)];
      assert.deepEqual(await s.values('k'), { max, min, a: max, b: min, c: '1' });
    });

    for (const [name, step, start] of [
      ['above, by add,', add('x', 1n), INT64_MAX],
      ['below, by add,', add('x', -1n), INT64_MIN],
      ['below, by subtract,', subtract('x', 1n), INT64_MIN],
      ['above, by subtract,', subtract('x', INT64_MIN), 0n],
    ] as const) {
      suite.rule(`that leaves 64 bits ${name} is capacity_exceeded and changes nothing`, async (s) => {
        const { revision } = await s.write('k', [set('x', String(start))]);
        await rejects(() => s.write('k', [set('y', '1'), step]), 'capacity_exceeded');
        assert.deepEqual(await s.values('k'), { x: String(start) });
        assert.equal(await s.revision('k'), revision);
      });
    }
  });
}
