import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { transformationOf } from '../../src/seclang/transformation/transformations.js';

function transform(name: string, value: string): string {
  const transformation = transformationOf(name);
  if (transformation === undefined) throw new Error(`no ${name}`);
  return transformation(value);
}

// Vectors of ModSecurity's own tests and its reference manual.
describe('known vectors', () => {
  test.each([
    ['lowercase', 'AbC\xc9', 'abc\xc9'],
    ['uppercase', 'aBc\xe9', 'ABC\xe9'],
    ['trim', ' \t\n a b \v\f\r ', 'a b'],
    ['trimLeft', ' a ', 'a '],
    ['trimRight', ' a ', ' a'],
    ['urlDecode', '+%00%41%ff%4%zz%', ' \0A\xff%4%zz%'],
    ['urlDecodeUni', '+%u0041%uff21%u2f%41', ' AA%u2fA'],
    [
      'htmlEntityDecode',
      '&#x41;&#65;&quot;&amp;&lt;&gt;&nbsp;&#x100;&#66&unknown;',
      'AA"&<>\xa0\0B&unknown;',
    ],
    ['removeNulls', 'a\0b\0', 'ab'],
    ['replaceNulls', 'a\0b', 'a b'],
    ['removeWhitespace', ' a\t\nb\xa0c ', 'abc'],
    ['compressWhitespace', ' a\t\n\xa0 b', ' a b'],
    ['length', '\0abc', '4'],
    ['hexEncode', '\0aé\xff', '0061e9ff'],
    ['base64Decode', 'VGVzdENhc2U=', 'TestCase'],
    ['base64Decode', 'VGVzdENhc2Ux', 'TestCase1'],
    ['normalizePath', '/foo/./bar/../baz//x', '/foo/baz/x'],
    ['normalizePath', '../../foo', '../../foo'],
    ['normalizePath', '/../foo', '/foo'],
    ['normalizePath', 'a/../..', '..'],
    ['normalizePath', '/a/b/', '/a/b/'],
    ['normalizePath', '', ''],
    ['normalisePathWin', '\\foo\\..\\bar', '/bar'],
    ['cmdLine', 'C^OMMAND /C "dir"  ;,x (y', 'command/c dir x(y'],
    ['jsDecode', '\\a\\b\\x41\\u0041\\uff21\\101\\0\\q', '\x07\bAAAA\0q'],
    ['cssDecode', '\\41 b\\000043\\q\\\nx', 'AbCqx'],
    ['utf8toUnicode', 'a\xc3\xa9\xe2\x82\xac\xff', 'a%u00e9%u20ac\xff'],
  ])('%s of %j', (name, value, expected) => {
    expect(transform(name, value)).toBe(expected);
  });

  test('digests', () => {
    expect(transform('hexEncode', transform('sha1', 'abc'))).toBe('a9993e364706816aba3e25717850c26c9cd0d89d');
    expect(transform('hexEncode', transform('md5', 'abc'))).toBe('900150983cd24fb0d6963f7d28e17f72');
  });
});

const NAMES = [
  'lowercase',
  'uppercase',
  'trim',
  'trimLeft',
  'trimRight',
  'urlDecode',
  'urlDecodeUni',
  'htmlEntityDecode',
  'removeNulls',
  'replaceNulls',
  'removeWhitespace',
  'compressWhitespace',
  'length',
  'sha1',
  'md5',
  'hexEncode',
  'base64Decode',
  'normalizePath',
  'normalizePathWin',
  'cmdLine',
  'jsDecode',
  'cssDecode',
  'utf8toUnicode',
];
const bytes = fc
  .oneof(
    fc.uint8Array(),
    fc
      .array(fc.constantFrom('%', 'u', '4', '1', '\\', 'x', '&', '#', ';', '/', '.', ' ', '+', '\xc3'))
      .map((parts) => Buffer.from(parts.join(''), 'latin1')),
  )
  .map((array) => Buffer.from(array).toString('latin1'));

test.each(NAMES)('%s gives bytes, whatever it is given', (name) => {
  fc.assert(
    fc.property(bytes, (value) => {
      expect(transform(name, value)).toMatch(/^[\0-\xff]*$/);
    }),
  );
});

test.each(NAMES)('%s takes one pass over 1 MB', (name) => {
  for (const unit of ['%', '\\', '&', '/', '../', ' ', '&#', '\xc3', 'a']) {
    expect(transform(name, unit.repeat(Math.floor(1_000_000 / unit.length)))).toBeTypeOf('string');
  }
});

test.each([
  'lowercase',
  'uppercase',
  'trim',
  'removeNulls',
  'removeWhitespace',
  'compressWhitespace',
  'normalizePath',
  'normalizePathWin',
])('%s twice is the same as once', (name) => {
  fc.assert(
    fc.property(bytes, (value) => {
      const once = transform(name, value);
      expect(transform(name, once)).toBe(once);
    }),
  );
});
