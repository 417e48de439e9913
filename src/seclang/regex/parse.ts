import {
  ALL,
  type Assertion,
  type ByteSet,
  byte,
  ESCAPED_SETS,
  foldCase,
  type Node,
  not,
  POSIX_SETS,
  range,
} from './syntax.js';

/** What is wrong with a pattern, in words for whoever wrote it. */
export class PatternError extends Error {}

/** PCRE knows what the pattern asks for; here it is not carried out. */
export class UnsupportedPattern extends PatternError {}

/** Bytes of a pattern. */
const MAX_PATTERN = 65_536;
/** Groups inside of groups. */
const MAX_DEPTH = 200;
const MAX_REPEAT = 65_535;

export interface ParseOptions {
  readonly ignoreCase?: boolean;
}

/**
 * Reads the pattern as PCRE does with DOTALL and DOLLAR_ENDONLY and without UTF, the way ModSecurity compiles them. Throws
 * `PatternError` for what is no pattern, `UnsupportedPattern` for atomic groups, possessive quantifiers, recursion, conditions and
 * Unicode properties.
 */
export function parsePattern(pattern: string, options: ParseOptions = {}): Node {
  if (pattern.length > MAX_PATTERN) {
    throw new PatternError(`has ${pattern.length} bytes, the most is ${MAX_PATTERN}`);
  }
  return new Parser(pattern, options.ignoreCase === true).parse();
}

interface Flags {
  readonly ignoreCase: boolean;
  readonly multiline: boolean;
  readonly dotAll: boolean;
  readonly extended: boolean;
}

class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  #flags: Flags;
  #captures = 0;

  constructor(text: string, ignoreCase: boolean) {
    this.#text = text;
    this.#flags = { ignoreCase, multiline: false, dotAll: true, extended: false };
  }

  parse(): Node {
    const node = this.#choice();
    if (this.#at < this.#text.length) throw new PatternError('has a ) that closes nothing');
    return node;
  }

  #choice(): Node {
    if (++this.#depth > MAX_DEPTH) throw new PatternError(`nests more than ${MAX_DEPTH} groups`);
    const before = this.#flags;
    const items = [this.#sequence()];
    while (this.#eat('|')) items.push(this.#sequence());
    this.#flags = before;
    this.#depth--;
    return items.length === 1 ? (items[0] as Node) : { type: 'choice', items };
  }

  #sequence(): Node {
    const items: Node[] = [];
    for (;;) {
      const next = this.#text[this.#at];
      if (next === undefined || next === '|' || next === ')') break;
      const atom = this.#atom();
      if (atom === undefined) continue;
      if (Array.isArray(atom)) {
        items.push(...atom.slice(0, -1));
        const last = atom.at(-1);
        if (last !== undefined) items.push(this.#quantified(last));
      } else items.push(this.#quantified(atom));
    }
    return items.length === 1 ? (items[0] as Node) : { type: 'sequence', items };
  }

  /** Undefined for what leaves nothing: comments, flags. */
  #atom(): Node | Node[] | undefined {
    const next = this.#text[this.#at++] as string;
    if (this.#flags.extended) {
      if (/\s/.test(next)) return undefined;
      if (next === '#') {
        const end = this.#text.indexOf('\n', this.#at);
        this.#at = end === -1 ? this.#text.length : end + 1;
        return undefined;
      }
    }
    switch (next) {
      case '.':
        return this.#set(this.#flags.dotAll ? ALL : not(byte(0x0a)));
      case '^':
        return assertion(this.#flags.multiline ? 'lineStart' : 'start');
      case '$':
        return assertion(this.#flags.multiline ? 'lineEnd' : 'end');
      case '[':
        return this.#set(this.#fold(this.#class()));
      case '(':
        return this.#group();
      case '\\':
        return this.#escape();
      case '{':
        this.#at--;
        if (this.#bounds() === undefined) {
          this.#at++;
          return this.#literal(0x7b);
        }
        throw new PatternError('has { } where there is nothing to repeat');
      case '*':
      case '+':
      case '?':
        throw new PatternError(`has ${next} where there is nothing to repeat`);
      default:
        return this.#literal(next.charCodeAt(0));
    }
  }

  #quantified(item: Node): Node {
    let node = item;
    for (let stacked = 0; ; stacked++) {
      const bounds = this.#bounds();
      if (bounds === undefined) return node;
      if (stacked > 0) throw new PatternError('repeats a repetition');
      const lazy = this.#eat('?');
      if (!lazy && this.#eat('+')) throw new UnsupportedPattern('has a possessive quantifier');
      const [least, most] = bounds;
      node = { type: 'repeat', item: node, least, most, lazy };
    }
  }

  #bounds(): [least: number, most: number] | undefined {
    if (this.#eat('*')) return [0, Number.POSITIVE_INFINITY];
    if (this.#eat('+')) return [1, Number.POSITIVE_INFINITY];
    if (this.#eat('?')) return [0, 1];
    const match = this.#match(/\{(\d{1,6})(,(\d{0,6}))?\}/y);
    if (match === undefined) return undefined;
    const least = Number(match[1]);
    const most =
      match[2] === undefined ? least : match[3] === '' ? Number.POSITIVE_INFINITY : Number(match[3]);
    if (least > most) throw new PatternError(`repeats from ${least} to ${most}`);
    if (least > MAX_REPEAT || (most !== Number.POSITIVE_INFINITY && most > MAX_REPEAT)) {
      throw new PatternError(`repeats more than ${MAX_REPEAT} times`);
    }
    return [least, most];
  }

  #group(): Node | undefined {
    if (!this.#eat('?')) {
      this.#captures++;
      return { type: 'capture', item: this.#closed() };
    }
    if (this.#eat('#')) {
      const end = this.#text.indexOf(')', this.#at);
      if (end === -1) throw new PatternError('has a comment without an end');
      this.#at = end + 1;
      return undefined;
    }
    if (this.#eat(':')) return this.#closed();
    const look = this.#match(/=|!|<=|<!/y);
    if (look !== undefined) {
      return { type: 'look', item: this.#closed(), opening: `?${look[0]}` as '?=' };
    }
    if (this.#match(/P?<[A-Za-z_]\w*>|'[A-Za-z_]\w*'/y) !== undefined) {
      this.#captures++;
      return { type: 'capture', item: this.#closed() };
    }
    const flags = this.#match(/([imsx]*)(?:-([imsx]*))?(:|\))/y);
    if (flags === undefined) throw new UnsupportedPattern('has a group (?… of a kind that is not supported');
    const outer = this.#flags;
    this.#flags = withFlags(withFlags(outer, flags[1] ?? '', true), flags[2] ?? '', false);
    if (flags[3] === ')') return undefined;
    const node = this.#closed();
    this.#flags = outer;
    return node;
  }

  #closed(): Node {
    const node = this.#choice();
    if (!this.#eat(')')) throw new PatternError('has a ( that is not closed');
    return node;
  }

  #escape(): Node | Node[] {
    const next = this.#text[this.#at++];
    if (next === undefined) throw new PatternError('ends with a backslash');
    const set = Object.hasOwn(ESCAPED_SETS, next) ? ESCAPED_SETS[next] : undefined;
    if (set !== undefined) return this.#set(set);
    switch (next) {
      case 'b':
        return assertion('word');
      case 'B':
        return assertion('notWord');
      case 'A':
        return assertion('start');
      case 'z':
        return assertion('end');
      case 'Q':
        return this.#quoted();
    }
    if (next >= '1' && next <= '9') {
      this.#at--;
      const group = Number(this.#match(/\d{1,2}/y)?.[0]);
      if (group <= 9 || group <= this.#captures) return { type: 'back', group };
      // Beyond nine it is octal where there is no such group.
      this.#at -= 2;
      const octal = this.#match(/[0-7]{1,3}/y);
      if (octal === undefined) throw new PatternError(`refers to the group ${group}, which is not there`);
      return this.#literal(Number.parseInt(octal[0], 8) & 0xff);
    }
    this.#at--;
    return this.#literal(this.#escapedByte());
  }

  #quoted(): Node[] {
    const end = this.#text.indexOf('\\E', this.#at);
    const text = this.#text.slice(this.#at, end === -1 ? undefined : end);
    this.#at = end === -1 ? this.#text.length : end + 2;
    return Array.from(text, (character) => this.#literal(character.charCodeAt(0)));
  }

  /** The byte of the escape that begins here, after its backslash. */
  #escapedByte(): number {
    const next = this.#text[this.#at++] as string;
    switch (next) {
      case 'a':
        return 0x07;
      case 'e':
        return 0x1b;
      case 'f':
        return 0x0c;
      case 'n':
        return 0x0a;
      case 'r':
        return 0x0d;
      case 't':
        return 0x09;
      case '0':
        return Number.parseInt(`0${this.#match(/[0-7]{0,2}/y)?.[0] ?? ''}`, 8);
      case 'c':
        return (this.#text[this.#at++] ?? '').toUpperCase().charCodeAt(0) ^ 0x40;
      case 'x': {
        const braced = this.#match(/\{([0-9A-Fa-f]{1,8})\}/y);
        const code = Number.parseInt(braced?.[1] ?? this.#match(/[0-9A-Fa-f]{0,2}/y)?.[0] ?? '', 16);
        if (code > 0xff)
          throw new UnsupportedPattern('names a character beyond \\xff, and is matched against bytes');
        return Number.isNaN(code) ? 0 : code;
      }
    }
    if (/[A-Za-z0-9]/.test(next))
      throw new UnsupportedPattern(`has the escape \\${next}, which is not supported`);
    return next.charCodeAt(0);
  }

  #class(): ByteSet {
    const inverted = this.#eat('^');
    let set = 0n;
    for (let first = true; ; first = false) {
      const next = this.#text[this.#at];
      if (next === undefined) throw new PatternError('has a [ that is not closed');
      if (next === ']' && !first) break;
      const posix = this.#match(/\[:(\^?)([a-z]+):\]/y);
      if (posix !== undefined) {
        const named = Object.hasOwn(POSIX_SETS, posix[2] as string)
          ? POSIX_SETS[posix[2] as string]
          : undefined;
        if (named === undefined) throw new PatternError(`has the unknown class [:${posix[2]}:]`);
        set |= posix[1] === '^' ? not(named) : named;
        continue;
      }
      const from = this.#member();
      if (typeof from === 'bigint') {
        set |= from;
        continue;
      }
      if (this.#text[this.#at] === '-' && this.#text[this.#at + 1] !== ']') {
        const dash = this.#at++;
        if (this.#at >= this.#text.length) throw new PatternError('has a [ that is not closed');
        const to = this.#member();
        if (typeof to === 'number') {
          if (from > to) throw new PatternError('has a range that runs backwards');
          set |= range(from, to);
          continue;
        }
        // Before a set a dash is itself.
        this.#at = dash;
      }
      set |= byte(from);
    }
    this.#at++;
    return inverted ? not(this.#fold(set)) : set;
  }

  /** One byte of a class, or a set of them. */
  #member(): number | ByteSet {
    const next = this.#text[this.#at++] as string;
    if (next !== '\\') return next.charCodeAt(0);
    const escaped = this.#text[this.#at];
    if (escaped === undefined) throw new PatternError('has a [ that is not closed');
    if (Object.hasOwn(ESCAPED_SETS, escaped) && escaped !== 'N') {
      this.#at++;
      return ESCAPED_SETS[escaped] as ByteSet;
    }
    if (escaped === 'b') {
      this.#at++;
      return 0x08;
    }
    if (escaped >= '1' && escaped <= '7')
      return Number.parseInt(this.#match(/[0-7]{1,3}/y)?.[0] as string, 8) & 0xff;
    return this.#escapedByte();
  }

  #literal(code: number): Node {
    return this.#set(this.#fold(byte(code)));
  }

  #fold(set: ByteSet): ByteSet {
    return this.#flags.ignoreCase ? foldCase(set) : set;
  }

  #set(set: ByteSet): Node {
    return { type: 'set', set };
  }

  #eat(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#at = pattern.lastIndex;
    return match;
  }
}

function assertion(kind: Assertion): Node {
  return { type: 'assertion', kind };
}

function withFlags(flags: Flags, letters: string, on: boolean): Flags {
  return {
    ignoreCase: letters.includes('i') ? on : flags.ignoreCase,
    multiline: letters.includes('m') ? on : flags.multiline,
    dotAll: letters.includes('s') ? on : flags.dotAll,
    extended: letters.includes('x') ? on : flags.extended,
  };
}
