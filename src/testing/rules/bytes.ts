import assert from 'node:assert/strict';
import type { RecordName } from '../../contract/space.js';
import { record } from '../session.js';
import { removeRecord, set } from '../steps.js';
import type { Suite } from '../suite.js';

/** Every byte there is, in an order that no text encoding has; without capitals, which no name may have. */
const ALL = Array.from({ length: 256 }, (_, index) => String.fromCharCode((index * 151 + 7) % 256)).join('');
const ALL_LOWER = ALL.replace(/[A-Z]/g, '');

/** Neighbours that a careless encoding takes for one another. */
const NEIGHBOURS: readonly RecordName[] = [
  record('a', 1, 'app'),
  record('A', 1, 'app'),
  record('a\0', 1, 'app'),
  record('\0a', 1, 'app'),
  record('a ', 1, 'app'),
  record('aa', 1, 'app'),
  record('a', 1, 'App'),
  record('a', 2, 'app'),
  record('ppa', 1, 'a'),
  record('pa', 1, 'ap'),
  record('appa', 1, ''),
  record('\xe4', 1, 'app'),
  record('\xc3\xa4', 1, 'app'),
  record('a\xcc\x88', 1, 'app'),
  record('\xff', 1, 'app'),
  record('\xff\xff', 1, 'app'),
  record('__proto__', 1, 'app'),
  record('constructor', 1, '__proto__'),
  record('k'.repeat(1024), 1, 'a'.repeat(255)),
  record(`${'k'.repeat(1023)}l`, 1, 'a'.repeat(255)),
  record('k'.repeat(1023), 1, `a${'a'.repeat(254)}`),
];

/** Keys, names and values are bytes: any byte, exactly. */
export function byteStrings(suite: Suite): void {
  suite.area('bytes', () => {
    suite.rule('of every kind stand in keys, application ids, names and values', async (s) => {
      const name = record(ALL, 1, ALL.slice(0, 255));
      await s.write(name, [set(ALL_LOWER, ALL)]);
      assert.deepEqual(
        [...(await s.load(name)).variables].map(([key, { value }]) => [key, value]),
        [[ALL_LOWER, ALL]],
      );
      if (s.has('ordered_scan')) assert.deepEqual(await s.scanAll(), [name]);
    });

    suite.rule('tell all records apart, by space, application id and key', async (s) => {
      for (const [index, name] of NEIGHBOURS.entries()) {
        assert.equal((await s.write(name, [set('x', String(index))])).existed, false, `neighbour ${index}`);
      }
      for (const [index, name] of NEIGHBOURS.entries()) assert.equal(await s.value(name, 'x'), String(index));
    });

    suite.rule('of one record go without those of its neighbours', async (s) => {
      for (const name of NEIGHBOURS) await s.write(name, [set('x', '1')]);
      for (const [index, name] of NEIGHBOURS.entries()) {
        await s.write(name, [removeRecord()]);
        for (const [other, neighbour] of NEIGHBOURS.entries()) {
          assert.equal((await s.revision(neighbour)) > 0, other > index);
        }
      }
    });

    suite.rule('tell all variables apart', async (s) => {
      const names = [
        'a',
        'a\0',
        '\0a',
        'a ',
        '\xe4',
        '\xc3\xa4',
        '__proto__',
        'constructor',
        '0',
        '00',
        '-0',
        '[',
        '{',
      ];
      await s.write(
        'k',
        names.map((name, index) => set(name, String(index))),
      );
      const { variables } = await s.load('k');
      assert.equal(variables.size, names.length);
      for (const [index, name] of names.entries()) assert.equal(await s.value('k', name), String(index));
    });

    suite.rule('of a value come back exactly at every length around the powers of two', async (s) => {
      for (const length of [0, 1, 127, 128, 255, 256, 4095, 4096, 4097, 32_767, 32_768]) {
        const value = ALL.repeat(Math.ceil(length / 256)).slice(0, length);
        await s.write('k', [set('x', value)]);
        assert.equal((await s.value('k', 'x')) === value, true, `${length} bytes`);
      }
    });
  });
}
