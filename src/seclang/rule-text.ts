import { type ByteString, encodeText } from '../contract/bytes.js';
import { WafStateError } from '../contract/errors.js';
import { loadError, type Position } from './position.js';

/**
 * The bytes of rule text that a caller gave. Throws `invalid_option` for what is none: a promise or a buffer taken for
 * text would make a set of no rules, which lets everything through.
 */
export function ruleBytes(owner: string, text: string, position: Position): ByteString {
  if (typeof text !== 'string') {
    const given: unknown = text;
    throw new WafStateError('invalid_option', `${owner} takes rules as text, ${whatElse(given)}`, {
      details: { option: 'text' },
    });
  }
  const bytes = encodeText(text);
  if (bytes !== undefined) return bytes;
  throw loadError(position, 'text', 'the text has a lone surrogate', 'read the file as UTF-8 or latin1');
}

function whatElse(given: unknown): string {
  if (given instanceof Promise) return "got a promise; await it, as in await readFile(path, 'utf8')";
  if (given instanceof Uint8Array) return "got bytes; decode them, as in readFileSync(path, 'utf8')";
  return `got ${given === null ? 'null' : `a value of type ${typeof given}`}`;
}
