import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backtrackingCost } from '../../src/seclang/regex/ambiguity.js';
import { compileMatcher } from '../../src/seclang/regex/matcher.js';
import { PatternError, parsePattern } from '../../src/seclang/regex/parse.js';

const engineOf = (pattern: string) => compileMatcher(pattern).engine;

describe('which engine a pattern runs on', () => {
  test.each([
    'abc',
    '^abc$',
    '^(.*)$',
    '(.)',
    '^[a-z]+=[0-9]+$',
    '\\bselect\\b',
    '^(?:get|post)$',
    '(?i)^/login',
    '^(?:[a-z]+,)*END$',
    '(?:foo|bar|baz)',
    '^a{3}b?c',
  ])('V8 alone: %s', (pattern) => {
    expect(engineOf(pattern)).toBe('v8');
  });

  test.each(['a+b', '.*foo', '^.*a.*b', '\\d+x', 'value=\\w+;'])('both, by length: %s', (pattern) => {
    expect(engineOf(pattern)).toBe('v8 and re2');
  });

  test.each([
    '(a+)+$',
    '(a|a)*$',
    '(a|aa)+$',
    '(.*)*x',
    '(?:a?){30}a{30}',
    '(x+x+)+y',
    '([a-zA-Z]+)*$',
    '(a*)*b',
    '(?:a|b|ab)*c',
    '(\\w+\\s?)+$',
    '(a{1,20}){1,20}$',
    '.*.*.*.*x',
    'a?a?a?a?a?a?a?a?a?a?aaaaaaaaaa',
  ])('the linear one alone: %s', (pattern) => {
    expect(engineOf(pattern)).toBe('re2');
  });

  test.each(['(a+)+\\1', '(?=(a+)+)b', '(?!.*x.*y.*z)a'])('none, unless allowed: %s', (pattern) => {
    expect(() => compileMatcher(pattern)).toThrow(PatternError);
    expect(compileMatcher(pattern, { backtracking: true }).engine).toBe('backtracking');
  });
});

test('bombs take no time', () => {
  const started = process.cpuUsage().user;
  for (const pattern of [
    '(a+)+$',
    '(a|a)*$',
    '(a|aa)+$',
    '(.*)*x',
    '(x+x+)+y',
    '(?:a?){30}a{30}b',
    '.*.*.*.*=',
    'a+a+b',
  ]) {
    const matcher = compileMatcher(pattern);
    for (const input of ['a', 'x', 'ab']) {
      expect(matcher.test(`${input.repeat(20_000)}!`)).toBeTypeOf('boolean');
    }
  }
  // The least exponential of them would take longer than the universe has been there.
  expect(process.cpuUsage().user - started).toBeLessThan(60_000_000);
});

describe('a pattern means what it means to PCRE', () => {
  test.each([
    ['^$', '', true],
    ['a$', 'a\n', false],
    ['.', '\n', true],
    ['(?-s).', '\n', false],
    ['(?m)^b$', 'a\nb\nc', true],
    ['(?i)GET', 'get', true],
    ['(?i:a)b', 'AB', false],
    ['(?i)[^a]', 'A', false],
    ['\\s', '\xa0', false],
    ['\\w', 'é', false],
    ['[[:alpha:]_]+', 'a_', true],
    ['[^[:digit:]]', '7', false],
    ['\\x41\\x{42}', 'AB', true],
    ['\\Qa.b\\E', 'a.b', true],
    ['\\Qa.b\\E', 'axb', false],
    ['[]a]', ']', true],
    ['[a\\-z]', '-', true],
    ['[\\w-]', '-', true],
    ['a{,3}', 'a{,3}', true],
    ['(?#note)a(?x) b # c', 'ab', true],
    ['(?<n>a)(?P<m>b)', 'ab', true],
    ['\\101\\07', 'A\x07', true],
    ['[\\101]', 'A', true],
    ['\\/\\"', '/"', true],
    ['a\\zb', 'ab', false],
  ])('%s on %j: %s', (pattern, input, expected) => {
    expect(compileMatcher(pattern, { backtracking: true }).test(input)).toBe(expected);
  });

  test('groups are those of the first match, and empty where they took no part', () => {
    for (const pattern of ['^(a)|(b)', '(?:x+x+)*(a)|(b)']) {
      expect(compileMatcher(pattern).groups('b')).toEqual(['b', '', 'b']);
    }
  });

  test.each([
    ['(', 'not closed'],
    [')', 'closes nothing'],
    ['[a', 'not closed'],
    ['[', 'not closed'],
    ['*a', 'nothing to repeat'],
    ['a**', 'repeats a repetition'],
    ['a++', 'possessive'],
    ['(?>a)', 'not supported'],
    ['\\p{L}', 'not supported'],
    ['a{3,1}', 'from 3 to 1'],
    ['a{99999}', 'more than'],
    ['[z-a]', 'backwards'],
    ['[[:nope:]]', 'unknown class'],
    ['a\\', 'backslash'],
    ['\\x{100}', 'beyond'],
    ['(?#', 'comment'],
    ['('.repeat(1000), 'nests'],
    ['a'.repeat(70_000), 'the most is'],
  ])('%s is refused', (pattern, message) => {
    expect(() => compileMatcher(pattern)).toThrow(message);
  });
});

const piece = fc.constantFrom(
  'a',
  'b',
  'ab',
  '.',
  '[ab]',
  '[^a]',
  '\\w',
  '^',
  '$',
  '\\b',
  'x',
  '(',
  ')',
  '(?:',
  '|',
  '*',
  '+',
  '?',
  '{2}',
  '{1,3}',
  '*?',
);
const pattern = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
const input = fc.stringMatching(/^[abx]{0,12}$/);

/** V8 refuses to repeat an assertion, which PCRE does not. */
function referenceOf(source: string): RegExp | undefined {
  try {
    return new RegExp(source, 's');
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
    return undefined;
  }
}

test('both engines agree on every pattern they share', () => {
  fc.assert(
    fc.property(pattern, input, (source, text) => {
      let own: ReturnType<typeof compileMatcher>;
      try {
        own = compileMatcher(source);
      } catch (error) {
        expect(error).toBeInstanceOf(PatternError);
        return;
      }
      const reference = referenceOf(source);
      if (reference !== undefined) expect(own.test(text)).toBe(reference.test(text));
      expect(own.groups(text) !== undefined).toBe(own.test(text));
    }),
    { numRuns: 3000 },
  );
});

test('the estimate bounds the steps of a backtracking matcher', () => {
  fc.assert(
    fc.property(pattern, fc.constantFrom('a', 'b', 'ab', 'abx'), (source, unit) => {
      let cost: ReturnType<typeof backtrackingCost>;
      try {
        cost = backtrackingCost(parsePattern(source));
      } catch (error) {
        expect(error).toBeInstanceOf(PatternError);
        return;
      }
      if (cost.exponential || cost.degree > 2) return;
      const text = `${unit.repeat(40)}!`;
      const started = performance.now();
      referenceOf(source)?.test(text);
      // 120 bytes, squared, times 256: far below this where the estimate holds, beyond all time where it does not.
      expect(performance.now() - started).toBeLessThan(5_000);
    }),
    { numRuns: 2000 },
  );
});

test('hostile patterns are refused or compiled, in bounded time', () => {
  fc.assert(
    fc.property(fc.oneof(pattern, fc.string({ unit: 'binary' })), (source) => {
      try {
        compileMatcher(source.replace(/[\u0100-\uffff]/g, ''));
      } catch (error) {
        expect(error).toBeInstanceOf(PatternError);
      }
    }),
    { numRuns: 2000 },
  );
});
