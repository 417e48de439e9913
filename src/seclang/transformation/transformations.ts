import { createHash } from 'node:crypto';
import { cmdLine, cssDecode, htmlEntityDecode, jsDecode, utf8ToUnicode } from './escapes.js';
import { normalizePath, normalizePathWin } from './path.js';
import { percentDecode, percentDecodeUnicode } from './percent.js';

/** From bytes to bytes, in time linear in them. */
export type Transformation = (value: string) => string;

/** By name in lower case; `none`, which takes the earlier ones off the list, is the compiler's. */
const TRANSFORMATIONS: Readonly<Record<string, Transformation>> = {
  lowercase: (value) => value.replace(/[A-Z]+/g, (run) => run.toLowerCase()),
  uppercase: (value) => value.replace(/[a-z]+/g, (run) => run.toUpperCase()),
  trim: (value) => value.slice(firstNonBlank(value), lastNonBlank(value) + 1),
  trimleft: (value) => value.slice(firstNonBlank(value)),
  trimright: (value) => value.slice(0, lastNonBlank(value) + 1),
  urldecode: percentDecode,
  urldecodeuni: percentDecodeUnicode,
  htmlentitydecode: htmlEntityDecode,
  removenulls: (value) => value.replaceAll('\0', ''),
  replacenulls: (value) => value.replaceAll('\0', ' '),
  removewhitespace: (value) => value.replace(/[\t\n\v\f\r \xa0]+/g, ''),
  compresswhitespace: (value) => value.replace(/[\t\n\v\f\r \xa0]+/g, ' '),
  length: (value) => String(value.length),
  sha1: (value) => digest('sha1', value),
  md5: (value) => digest('md5', value),
  hexencode: (value) => Buffer.from(value, 'latin1').toString('hex'),
  base64decode: (value) => Buffer.from(value, 'base64').toString('latin1'),
  normalizepath: normalizePath,
  normalisepath: normalizePath,
  normalizepathwin: normalizePathWin,
  normalisepathwin: normalizePathWin,
  cmdline: cmdLine,
  jsdecode: jsDecode,
  cssdecode: cssDecode,
  utf8tounicode: utf8ToUnicode,
};

/** Undefined where there is no such transformation. */
export function transformationOf(name: string): Transformation | undefined {
  const key = name.toLowerCase();
  return Object.hasOwn(TRANSFORMATIONS, key) ? TRANSFORMATIONS[key] : undefined;
}

function digest(algorithm: 'sha1' | 'md5', value: string): string {
  return createHash(algorithm).update(value, 'latin1').digest('binary');
}

function isBlank(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

function firstNonBlank(value: string): number {
  let at = 0;
  while (at < value.length && isBlank(value.charCodeAt(at))) at++;
  return at;
}

function lastNonBlank(value: string): number {
  let at = value.length - 1;
  while (at >= 0 && isBlank(value.charCodeAt(at))) at--;
  return at;
}
