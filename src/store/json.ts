import { WafStateError } from '../contract/errors.js';

/** What JSON can express. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Arrays and objects within each other, at most: far beyond any use, and well within the stack of every reader. */
export const MAX_DEPTH = 100;

/**
 * The JSON text of a value, which reads back as the same value. `JSON.stringify` would drop functions, symbols and `undefined`, turn
 * NaN into null, call `toJSON`, and make all of a text that is far too large before anyone could measure it: here the first two
 * and every object with a class of its own are refused, and the work ends once the text is longer than `most` characters.
 *
 * Every property is read exactly once, so a getter cannot show one value to the check and another to the writer. Throws
 * `invalid_mutation`.
 */
export function writeJson(value: unknown, most: number): string {
  return new JsonWriter(most).write(value);
}

class JsonWriter {
  readonly #most: number;
  #text = '';
  /** The arrays and objects that hold the one being written: what is among them again is a cycle. */
  readonly #holders = new Set<object>();

  constructor(most: number) {
    this.#most = most;
  }

  write(value: unknown): string {
    this.#value(value);
    return this.#text;
  }

  #value(value: unknown): void {
    switch (typeof value) {
      case 'string':
        this.#string(value);
        return;
      case 'boolean':
        this.#append(value ? 'true' : 'false');
        return;
      case 'number':
        if (!Number.isFinite(value)) throw refused(String(value), 'leave it out, or write it as text');
        this.#append(String(value));
        return;
      case 'object':
        if (value === null) this.#append('null');
        else this.#within(value);
        return;
      default:
        throw refused(`a ${typeof value}`, 'leave it out');
    }
  }

  #within(holder: object): void {
    if (this.#holders.has(holder)) throw refused('a cycle', 'store what it refers to under a key of its own');
    if (this.#holders.size === MAX_DEPTH) {
      throw refused(`more than ${MAX_DEPTH} levels`, 'flatten it');
    }
    this.#holders.add(holder);
    if (Array.isArray(holder)) this.#array(holder);
    else this.#object(holder);
    this.#holders.delete(holder);
  }

  #array(elements: readonly unknown[]): void {
    this.#append('[');
    for (let index = 0; index < elements.length; index++) {
      if (index > 0) this.#append(',');
      this.#value(elements[index]);
    }
    this.#append(']');
  }

  #object(object: object): void {
    const prototype: unknown = Object.getPrototypeOf(object);
    // The second: an object of another realm, whose Object.prototype is not ours.
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
      throw refused('an object with a class of its own', 'store a plain object of what it holds');
    }
    if (Object.getOwnPropertySymbols(object).length > 0) {
      throw refused('a property named by a symbol', 'leave it out');
    }
    let separator = '{';
    for (const name of Object.keys(object)) {
      this.#append(separator);
      separator = ',';
      this.#string(name);
      this.#append(':');
      this.#value((object as Record<string, unknown>)[name]);
    }
    this.#append(separator === '{' ? '{}' : '}');
  }

  #string(text: string): void {
    this.#reserve(text.length);
    this.#append(JSON.stringify(text));
  }

  #append(text: string): void {
    this.#reserve(text.length);
    this.#text += text;
  }

  #reserve(length: number): void {
    if (this.#text.length + length > this.#most) throw tooLarge(this.#most);
  }
}

export function tooLarge(limit: number, actual?: number): WafStateError {
  return new WafStateError(
    'invalid_mutation',
    `a value of a store may have ${limit} bytes as it is stored, ${actual === undefined ? 'this one has more' : `got ${actual}`}; split it over several keys`,
    { details: { option: 'value', limit, ...(actual !== undefined && { actual }) } },
  );
}

function refused(what: string, remedy: string): WafStateError {
  return new WafStateError(
    'invalid_mutation',
    `a value of a store is text, a finite number, a boolean, bytes, or an array or plain object of what JSON can express; it holds ${what}: ${remedy}`,
    { details: { option: 'value' } },
  );
}
