import { lowByte } from './percent.js';

const NAMED: Readonly<Record<string, string>> = { quot: '"', amp: '&', lt: '<', gt: '>', nbsp: '\xa0' };

/** `&#xhh;`, `&#ddd;` (the semicolon may be missing) and the five names that ModSecurity knows; characters come out as their low byte. */
export function htmlEntityDecode(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(
    /&(?:#[xX]([0-9A-Fa-f]{1,8})|#([0-9]{1,10})|(quot|amp|lt|gt|nbsp)(?![0-9A-Za-z]));?/gi,
    (_, hex?: string, decimal?: string, name?: string) => {
      if (name !== undefined) return NAMED[name.toLowerCase()] as string;
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return String.fromCharCode(code & 0xff);
    },
  );
}

const CONTROLS: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** JavaScript's escapes: `\uhhhh` as its low byte, `\xhh`, octal up to \377, and letters; any other escaped character is itself. */
export function jsDecode(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(
    /\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([0-3][0-7]{0,2}|[4-7][0-7]?)|([\s\S]))/g,
    (_, wide?: string, hex?: string, octal?: string, other?: string) => {
      if (wide !== undefined) return lowByte(wide);
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      return CONTROLS[other as string] ?? (other as string);
    },
  );
}

/** CSS 2's escapes: up to six hexadecimal digits as their low byte, with one white space after them; an escaped line break is nothing. */
export function cssDecode(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(
    /\\(?:([0-9A-Fa-f]{1,6})[\t\n\v\f\r ]?|(\n)|([\s\S])|$)/g,
    (_, hex?: string, newline?: string, other?: string) => {
      if (hex === undefined) return newline === undefined ? (other ?? '') : '';
      const low = hex.slice(-4).padStart(4, '0');
      // Only with exactly the digits of a full-width character is it taken for one.
      return hex.length < 4 ? String.fromCharCode(Number.parseInt(hex.slice(-2), 16)) : lowByte(low);
    },
  );
}

/** Every UTF-8 sequence of two bytes and more as `%uhhhh`. What is no UTF-8 stays as it is. */
export function utf8ToUnicode(text: string): string {
  return text.replace(
    /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g,
    (sequence) => {
      const decoded = Buffer.from(sequence, 'latin1').toString('utf8');
      if (decoded.includes('\ufffd')) return sequence;
      return `%u${(decoded.codePointAt(0) as number).toString(16).padStart(4, '0')}`;
    },
  );
}

/** What shells see through: no \ " ' ^, no blanks before / and (, commas and semicolons as blanks, one blank for many, lower case. */
export function cmdLine(text: string): string {
  return text
    .replace(/[\\"'^]/g, '')
    .replace(/[\t\n\v\f\r ,;]+/g, ' ')
    .replace(/ (?=[/(])/g, '')
    .replace(/[A-Z]+/g, (run) => run.toLowerCase());
}
