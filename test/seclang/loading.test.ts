import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { WafStateError } from '../../src/contract/errors.js';
import { compileActions, compileRules, lintRules, loadRules } from '../../src/seclang/index.js';

const directory = mkdtempSync(join(tmpdir(), 'wafstate-rules-'));
afterAll(() => rmSync(directory, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

function failure(load: () => unknown): WafStateError {
  try {
    load();
  } catch (error) {
    if (error instanceof WafStateError) return error;
    throw error;
  }
  throw new Error('it loaded');
}

describe('load errors', () => {
  test.each([
    ['SecRule ARGS', 'invalid_option', 'two or three arguments'],
    ['SecRule ARGS x "id:1" y', 'invalid_option', 'two or three arguments'],
    ['SecAction', 'invalid_option', 'one argument'],
    ['SecRule ARGS "x', 'invalid_option', 'no closing quote'],
    ['SecRule ARGS "x"y', 'invalid_option', 'right after a closing quote'],
    ['SecNothing On', 'unsupported', "no directive 'SecNothing'"],
    ['SecRule NOTHING "x" "id:1"', 'unsupported', "no variable 'NOTHING'"],
    ['SecRule ARGS| "x" "id:1"', 'invalid_option', 'is no target'],
    ['SecRule !ARGS:x "x" "id:1"', 'invalid_option', 'excludes from a target that is not there'],
    ['SecRule REMOTE_ADDR:x "x" "id:1"', 'invalid_option', 'no member'],
    ['SecRule ARGS:/(/ "x" "id:1"', 'invalid_option', 'the regex'],
    ['SecRule ARGS "@nothing x" "id:1"', 'unsupported', 'no operator @nothing'],
    ['SecRule ARGS "@ x" "id:1"', 'invalid_option', 'is no operator'],
    ['SecRule ARGS "(" "id:1"', 'invalid_option', 'the regex'],
    ['SecRule ARGS "(a+)+\\1" "id:1"', 'unsupported', 'backtracking'],
    ['SecRule ARGS "@rx %{tx.a}" "id:1"', 'unsupported', 'macro'],
    ['SecRule ARGS "@ipMatch 1.2.3" "id:1"', 'invalid_option', 'no address'],
    ['SecRule ARGS "@ipMatch 1.2.3.4/33" "id:1"', 'invalid_option', 'no address'],
    ['SecRule ARGS "@validateByteRange 1-300" "id:1"', 'invalid_option', 'no range of bytes'],
    [`SecRule ARGS "@pm ${'a'.repeat(70_000)}"`, 'invalid_option', 'the most is 65536'],
    ['SecRule ARGS "@pmFromFile nowhere.data" "id:1"', 'invalid_option', 'ENOENT'],
    ['SecRule ARGS "@streq %{NOTHING}" "id:1"', 'unsupported', 'no variable'],
    ['SecRule ARGS "@streq %{REMOTE_ADDR.x}" "id:1"', 'invalid_option', 'member'],
    ['SecRule ARGS "@streq %{ARGS}" "id:1"', 'invalid_option', 'names no member'],
    ['SecRule ARGS "x" "id:1,exec:/bin/true"', 'unsupported', "no action 'exec'"],
    ['SecRule ARGS "x" "id:1,t:nothing"', 'unsupported', 'no transformation'],
    ['SecRule ARGS "x" "id:1,ctl:nothing=1"', 'unsupported', 'no ctl:'],
    ['SecRule ARGS "x" "id:1,ctl:ruleEngine=Maybe"', 'invalid_option', 'engine mode'],
    ['SecRule ARGS "x" "id:1,phase:6"', 'invalid_option', 'no phase'],
    ['SecRule ARGS "x" "id:0"', 'invalid_option', 'id is'],
    ['SecRule ARGS "x" "id:1,status:42"', 'invalid_option', 'status is'],
    ['SecRule ARGS "x" "id:1,deny:now"', 'invalid_option', 'takes no value'],
    ['SecRule ARGS "x" "id:1,msg"', 'invalid_option', 'has no value'],
    ['SecRule ARGS "x" "id:1,allow:all"', 'invalid_option', 'no allow:all'],
    ['SecRule ARGS "x" "id:1,setvar:tx.a=%{NOTHING}"', 'unsupported', 'no variable'],
    ['SecRule ARGS "x" "id:1,deprecatevar:bogus"', 'invalid_option', 'has no ='],
    ['SecRule ARGS "x" "id:1,chain"', 'invalid_option', 'no next rule'],
    ['SecRule ARGS "x" "id:1,chain"\nSecMarker A', 'invalid_option', 'inside of a chain'],
    ['SecRule ARGS "x" "id:1,chain"\nSecRule ARGS "y" "id:2"', 'invalid_option', 'gives id'],
    ['SecRule ARGS "x" "id:1,chain"\nSecRule ARGS "y" "deny"', 'invalid_option', 'gives a disruptive action'],
    ['SecAction "id:1"\nSecAction "id:1"', 'invalid_option', 'is taken by rules:1'],
    ['SecDefaultAction "phase:1,block"', 'invalid_option', 'belongs to one rule'],
    ['SecCollectionTimeout 2592001', 'invalid_option', 'SecCollectionTimeout is'],
    ['SecCollectionTimeout soon', 'invalid_option', 'SecCollectionTimeout is'],
    [`SecWebAppId ${'a'.repeat(256)}`, 'invalid_option', '256 bytes'],
    ['SecRuleEngine', 'invalid_option', 'one argument'],
    ['SecRuleRemoveById', 'invalid_option', 'names no rule'],
    ['SecRuleRemoveById x', 'invalid_option', 'no rule id'],
    ['Include nowhere.conf', 'invalid_option', 'ENOENT'],
    ['Include nowhere/*.conf', 'invalid_option', 'ENOENT'],
  ])('%s', (text, code, message) => {
    const error = failure(() => compileRules(`# a comment\n\n${text}`.replace('rules:1', 'rules:3')));
    expect(error.code).toBe(code);
    expect(error.message).toContain(message.replace('rules:1', 'rules:3'));
    expect(error.message).toMatch(/^rules:[345]: .*; /);
  });

  test('name the line, over continuations', () => {
    const text = 'SecRule ARGS "x" \\\n  "id:1,\\\n  phase:2,\\\n  t:nothing"';
    expect(failure(() => compileRules(text, { file: 'a.conf' })).message).toContain('a.conf:4: ');
  });

  test('options are checked', () => {
    expect(failure(() => compileRules('', { regex: 'fast' as 'linear' })).code).toBe('invalid_option');
  });
});

describe("unsupported: 'skip'", () => {
  test('leaves out rules with what they are chained to, and says so', () => {
    const rules = compileRules(
      [
        'SecAuditEngine On',
        'SecRule REMOTE_ADDR "@rbl example.org" "id:1,phase:1,chain,deny"',
        '  SecRule ARGS "x" "chain"',
        '  SecRule ARGS "y" "setvar:tx.a=1"',
        'SecAction "id:2,phase:1"',
        'SecRule ARGS "x" "id:3,chain"',
        '  SecRule GEO:COUNTRY "y" "setvar:tx.a=1"',
        'SecAction "id:4,phase:1"',
        'SecRule REMOTE_ADDR "@rbl example.org"',
      ].join('\n'),
      { unsupported: 'skip' },
    );
    expect(rules.size).toBe(2);
    expect(rules.warnings.map(({ line, construct }) => [line, construct])).toEqual([
      [1, 'SecAuditEngine'],
      [2, '@rbl'],
      [7, 'GEO'],
      [9, '@rbl'],
    ]);
  });

  test('does not pardon what is wrong', () => {
    expect(failure(() => compileRules('SecRule ARGS "(" "id:1"', { unsupported: 'skip' })).code).toBe(
      'invalid_option',
    );
  });
});

test('a jump to nowhere is a warning', () => {
  const { warnings } = compileRules(
    'SecMarker A\nSecAction "id:1,skipAfter:A"\nSecAction "id:2,skipAfter:B"\nSecMarker B',
  );
  expect(warnings).toEqual([expect.objectContaining({ line: 2, construct: 'skipAfter' })]);
});

test('SecRuleRemoveById takes out rules that came before it', () => {
  const rule = (id: number) => `SecAction "id:${id}"`;
  expect(compileRules([rule(1), rule(2), rule(5), 'SecRuleRemoveById 1 4-6', rule(4)].join('\n')).size).toBe(
    2,
  );
});

test('SecWebAppId and SecCollectionTimeout are for the collections', () => {
  const timeouts = (seconds: number) => ({
    ip: seconds,
    session: seconds,
    user: seconds,
    global: seconds,
    resource: seconds,
  });
  expect(compileRules('').collectionOptions).toEqual({ applicationId: '', timeouts: timeouts(3600) });
  expect(compileRules('SecWebAppId shop\nSecCollectionTimeout 60').collectionOptions).toEqual({
    applicationId: 'shop',
    timeouts: timeouts(60),
  });
});

describe('files', () => {
  test('include others beside them, by name and by pattern', () => {
    file('b-1.conf', 'SecAction "id:11"');
    file(
      'b-2.conf',
      'SecAction "id:12"\r\nSecRule REMOTE_ADDR "@ipMatchFromFile addresses.data" "id:13"\r\n',
    );
    file('c.conf', 'SecRule ARGS "@pmf words.data" "id:14"');
    file('addresses.data', '# ours\n192.0.2.1\n\n2001:db8::/32\n');
    file('words.data', 'one\ntwo words\n');
    const path = file('all.conf', 'Include b-*.conf\nInclude "c.conf"\n');
    expect(loadRules(path).size).toBe(4);
    expect(loadRules([path, file('d.conf', 'SecAction "id:15"')]).size).toBe(5);
  });

  test('that include each other are refused', () => {
    file('loop-a.conf', 'Include loop-b.conf');
    file('loop-b.conf', '\nInclude loop-*.conf');
    const error = failure(() => loadRules(join(directory, 'loop-a.conf')));
    expect(error.message).toMatch(/loop-b\.conf:2: .* includes itself/);
  });

  test('of more than a thousand are refused', () => {
    for (let depth = 0; depth < 11; depth++) {
      file(`deep-${depth}.conf`, depth === 0 ? '' : `Include deep-${depth - 1}.conf\n`.repeat(2));
    }
    expect(failure(() => loadRules(join(directory, 'deep-10.conf'))).message).toContain(
      'more than 1000 files',
    );
  });
});

describe('hostile text', () => {
  const word = fc.constantFrom(
    'SecRule',
    'SecAction',
    'SecMarker',
    'Include',
    'ARGS',
    '&IP',
    '!',
    '|',
    ':',
    '/',
    '"',
    "'",
    '\\',
    '\n',
    '\\\n',
    ' ',
    '@rx',
    '@eq',
    'id:1',
    'chain',
    ',',
    'setvar:tx.a=1',
    '%{',
    '}',
    '(',
    '#',
    '\0',
    'é',
  );

  test('throws typed errors, or loads', () => {
    const text = fc.oneof(
      fc.array(word).map((words) => words.join('')),
      fc.array(word).map((words) => words.join(' ')),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(text, fc.constantFrom('error' as const, 'skip' as const), (source, unsupported) => {
        try {
          compileRules(source, { unsupported });
        } catch (error) {
          expect(error).toBeInstanceOf(WafStateError);
          expect((error as WafStateError).message.length).toBeLessThan(600);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test.each(['a', '"', "'", '\\', '\\"', ' ', '\\\n', 'a \\\n', '|', ',', '%{', '(', '[', '\n'])(
    '10 MB of %j cost bounded work',
    (unit) => {
      const text = unit.repeat(Math.floor(10_000_000 / unit.length));
      const inOperators =
        unit === 'a' || unit === '(' ? ['SecRule ARGS "@pm ', 'SecRule ARGS "@rx ', 'SecRule ARGS:/'] : [];
      for (const head of [...inOperators, '', 'SecRule ARGS "', 'SecRule ARGS "x" "', 'SecRule ']) {
        try {
          compileRules(head + text);
        } catch (error) {
          expect(error).toBeInstanceOf(WafStateError);
        }
      }
    },
  );
});

describe('what is no rule text', () => {
  const never = (value: unknown) => value as never;

  test.each([
    ['a promise', Promise.resolve('SecRuleEngine On'), 'await it'],
    ['bytes', Buffer.from('SecRuleEngine On'), 'decode them'],
    ['a number', 5, 'type number'],
    ['nothing', undefined, 'type undefined'],
    ['null', null, 'null'],
  ])('is refused, and no set of no rules: %s', (_, text, message) => {
    for (const compile of [compileRules, compileActions]) {
      const error = failure(() => compile(never(text)));
      expect(error).toMatchObject({ code: 'invalid_option', details: { option: 'text' } });
      expect(error.message).toContain(message);
    }
  });

  test.each([[undefined], [null], [5], [[]], [[5]], [Promise.resolve('x')]])(
    'nor are these paths: %s',
    (paths) => {
      expect(failure(() => loadRules(never(paths))).code).toBe('invalid_option');
    },
  );

  test.each([[undefined], [null], [{}], ['SecRuleEngine On']])(
    'nor is this a rule set to lint: %s',
    (rules) => {
      expect(failure(() => lintRules(never(rules))).code).toBe('invalid_option');
    },
  );
});

test('an Include that matches no file is a warning', () => {
  const main = file('lonely.conf', 'SecAction "id:1"\nInclude nowhere-*.conf');
  expect(loadRules(main).warnings).toMatchObject([{ line: 2, construct: 'Include' }]);
});

test.each(['(a+)+\\1', 'a++', '(?>a)', '\\pL', '\\x{100}'])(
  'a rule with a regex that only PCRE can run is left out where that is asked for: %s',
  (pattern) => {
    const text = `SecAction "id:1"\nSecRule ARGS "${pattern}" "id:2"\nSecRule ARGS:/${pattern}/ "x" "id:3"`;
    const rules = compileRules(text, { unsupported: 'skip' });
    expect(rules.size).toBe(1);
    expect(rules.warnings.map(({ line }) => line)).toEqual([2, 3]);
    expect(failure(() => compileRules(text)).code).toBe('unsupported');
  },
);

test.each(['(', '[z-a]', 'a**', 'a{2,1}', '\\'])('advises nothing that would not help: %s', (pattern) => {
  for (const regex of ['linear', 'backtracking'] as const) {
    const error = failure(() =>
      compileRules(`SecRule ARGS "${pattern}" "id:1"`, { regex, unsupported: 'skip' }),
    );
    expect(error.code).toBe('invalid_option');
    expect(error.message).not.toContain('backtracking');
  }
});
