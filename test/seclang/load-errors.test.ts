import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { WafStateError } from '../../src/contract/errors.js';
import { parseActionList } from '../../src/seclang/action-list.js';
import { compileActions } from '../../src/seclang/index.js';
import { parseTemplate, printTemplate } from '../../src/seclang/macro.js';
import { joinLines } from '../../src/seclang/piece.js';

function failure(text: string, options = {}): WafStateError {
  try {
    compileActions(text, options);
  } catch (error) {
    if (error instanceof WafStateError) return error;
    throw error;
  }
  throw new Error(`compiled: ${text}`);
}

describe('what is wrong before any request', () => {
  test.each([
    ['initcol:ip', 'initcol', 'has no ='],
    ['initcol:ip=', 'initcol', 'empty key'],
    ['initcol:ipp=x', 'initcol', "no collection 'ipp'"],
    ['initcol:tx=x', 'initcol', "no collection 'tx'"],
    ['setsid', 'setsid', 'has no value'],
    ["setuid:''", 'setuid', 'has no value'],
    ['setvar:ip', 'setvar', 'a collection and a name'],
    ['setvar:ip.=1', 'setvar', 'a collection and a name'],
    ['setvar:args.x=1', 'setvar', 'no collection'],
    ['setvar:!ip.x=1', 'setvar', 'takes no value'],
    ['setvar:ip.KEY=1', 'setvar', 'read-only'],
    ['setvar:!ip.IS_NEW', 'setvar', 'read-only'],
    ['setvar:ip.UPDATE_RATE=+1', 'setvar', 'read-only'],
    ['setvar:ip.TIMEOUT=+1', 'setvar', 'counted up or down'],
    ['setvar:ip.TIMEOUT=soon', 'setvar', 'where seconds are due'],
    ['expirevar:ip.x', 'expirevar', 'has no ='],
    ['expirevar:ip.x=-1', 'expirevar', 'where seconds are due'],
    ['expirevar:ip.x=soon', 'expirevar', 'where seconds are due'],
    ['expirevar:ip.x=315360001', 'expirevar', 'ten years'],
    ['expirevar:tx.x=1', 'expirevar', 'not for tx'],
    ['deprecatevar:bogus', 'deprecatevar', 'has no ='],
    ['deprecatevar:ip.x=1', 'deprecatevar', 'has no /'],
    ['deprecatevar:ip.x=1/0', 'deprecatevar', 'where seconds are due'],
    ['deprecatevar:ip.x=1/-60', 'deprecatevar', 'where seconds are due'],
    ['setvar:tx.x=%{ARGS.a', 'macro', 'has no end'],
    ['setvar:tx.x=%{}', 'macro', 'names no variable'],
    ["setvar:'tx.x=1", 'setvar', 'no closing apostrophe'],
    ["setvar:'tx.x=1'2", 'setvar', 'after the closing apostrophe'],
    ['setvar:tx.x=1,,', 'actions', "action's name"],
    ['deny', 'deny', 'no action that changes state'],
  ])('%s', (text, option, message) => {
    const error = failure(text);
    expect(error).toMatchObject({ code: 'invalid_option', details: { option } });
    expect(error.message).toContain('actions:1: ');
    expect(error.message).toContain(message);
    expect(error.message).toContain('; ');
  });

  test('is named by its file and line, over continuations and line breaks', () => {
    const text = 'initcol:ip=a,\\\n  setvar:ip.n=+1,\n\n  expirevar:ip.n=soon';
    expect(failure(text, { file: 'rules.conf', line: 10 }).message).toContain('rules.conf:13: ');
  });

  test('also where the text is no text, or an option unknown', () => {
    expect(failure('setsid:\ud800').message).toContain('lone surrogate');
    expect(failure('setsid:a', { lines: 1 })).toMatchObject({ code: 'invalid_option' });
  });
});

test('an empty list is a plan that does nothing', () => {
  expect(() => compileActions(' \n ')).not.toThrow();
});

test('a quoted value keeps commas and escaped apostrophes', () => {
  const [action] = parseActionList(joinLines("msg:'it\\'s, so'", 'f', 1));
  expect(action).toMatchObject({ name: 'msg', value: "it's, so" });
});

test('a template prints as what it was parsed from', () => {
  const part = fc.oneof(
    fc.stringMatching(/^[a-z=+/,. ]{0,5}$/),
    fc.constantFrom('%{TX.a}', '%{REMOTE_ADDR}', '%{ARGS.a:b.c}', '%', '}'),
  );
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const text = parts.join('').replaceAll('%%{', '%{');
      expect(printTemplate(parseTemplate(text, { file: 'f', line: 1 }))).toBe(text);
    }),
  );
});

test('hostile text throws typed errors, or compiles', () => {
  const word = fc.constantFrom(
    'setvar',
    'initcol',
    'expirevar',
    'deprecatevar',
    'setsid',
    ':',
    "'",
    '"',
    '\\',
    '=',
    '/',
    ',',
    '%{',
    '}',
    '.',
    'ip',
    'tx',
    '!',
    '+',
    '\n',
    '\\\n',
    '-1',
    '60',
    '\0',
    'é',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(word).map((words) => words.join('')),
        fc.string({ unit: 'binary' }),
      ),
      (text) => {
        try {
          compileActions(text);
        } catch (error) {
          expect(error).toBeInstanceOf(WafStateError);
          expect((error as WafStateError).message.length).toBeLessThan(400);
        }
      },
    ),
    { numRuns: 2000 },
  );
});

test.each([
  ['one word', 'a'],
  ['apostrophes', "'"],
  ['escaped apostrophes', "\\'"],
  ['macros', '%{'],
  ['blanks', ' '],
  ['continuations', '\\\n'],
  ['equals signs', '='],
])('10 MB of %s cost one pass', (_, unit) => {
  const text = unit.repeat(Math.floor(10_000_000 / unit.length));
  for (const head of ['', 'setvar:tx.x=', "setvar:'tx.x=", 'setvar:tx.x=%{', 'deprecatevar:ip.x=%{']) {
    try {
      compileActions(head + text);
    } catch (error) {
      expect(error).toBeInstanceOf(WafStateError);
    }
  }
});
