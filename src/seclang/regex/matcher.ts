import { RE2JS } from 're2js';
import { backtrackingCost } from './ambiguity.js';
import { type ParseOptions, parsePattern, UnsupportedPattern } from './parse.js';
import { printPattern } from './print.js';
import type { Node } from './syntax.js';

/** A compiled pattern. Input is bytes. */
export interface Matcher {
  test(input: string): boolean;
  /** The whole match and its groups; a group that took no part is ''. Undefined = no match. */
  groups(input: string): readonly string[] | undefined;
  /** What it runs on, and up to how many bytes of input where that is bounded. */
  readonly engine: 'v8' | 're2' | 'v8 and re2' | 'backtracking';
}

export interface MatcherOptions extends ParseOptions {
  /** Let patterns backtrack that no linear engine can express, on the first bytes of the input. */
  readonly backtracking?: boolean;
}

/** Steps that a backtracking engine may take at one match: a few milliseconds. */
const MAX_STEPS = 2_000_000;
/** Bytes of input that a pattern sees which the operator has allowed to backtrack. */
export const BACKTRACKING_BYTES = 4096;

/**
 * Compiles a pattern so that no input makes it exponential. What its ambiguity shows to take few steps runs on V8, everything
 * else, and input that is long for a pattern whose steps grow with its square, on re2js in linear time. Throws `PatternError`,
 * of which `NotLinear` is the one that `backtracking` would allow.
 */
export function compileMatcher(pattern: string, options: MatcherOptions = {}): Matcher {
  const node = parsePattern(pattern, options);
  const cost = backtrackingCost(node);
  const v8 = new RegExp(printPattern(node, 'v8'));
  if (!cost.exponential && cost.degree === 1) return new V8Matcher(v8, 'v8', Number.POSITIVE_INFINITY);
  let linear: RE2JS;
  try {
    linear = compileLinear(node);
  } catch (error) {
    if (options.backtracking === true) return new V8Matcher(v8, 'backtracking', BACKTRACKING_BYTES);
    throw new NotLinear(
      `may take time beyond bounds by backtracking, and the linear engine cannot run it (${error instanceof Error ? error.message : String(error)})`,
    );
  }
  if (cost.exponential || cost.degree > 3) return new LinearMatcher(linear);
  return new SplitMatcher(v8, linear, Math.floor((MAX_STEPS / cost.factor) ** (1 / cost.degree)));
}

/** Neither engine can run it within bounds. */
export class NotLinear extends UnsupportedPattern {}

function compileLinear(node: Node): RE2JS {
  return RE2JS.compile(printPattern(node, 're2'));
}

class V8Matcher implements Matcher {
  readonly #regex: RegExp;
  readonly #most: number;
  readonly engine: 'v8' | 'backtracking';

  constructor(regex: RegExp, engine: 'v8' | 'backtracking', most: number) {
    this.#regex = regex;
    this.engine = engine;
    this.#most = most;
  }

  test(input: string): boolean {
    return this.#regex.test(this.#bounded(input));
  }

  groups(input: string): readonly string[] | undefined {
    return v8Groups(this.#regex, this.#bounded(input));
  }

  #bounded(input: string): string {
    return input.length > this.#most ? input.slice(0, this.#most) : input;
  }
}

class LinearMatcher implements Matcher {
  readonly #regex: RE2JS;
  readonly engine = 're2';

  constructor(regex: RE2JS) {
    this.#regex = regex;
  }

  test(input: string): boolean {
    return this.#regex.test(input);
  }

  groups(input: string): readonly string[] | undefined {
    return linearGroups(this.#regex, input);
  }
}

class SplitMatcher implements Matcher {
  readonly #regex: RegExp;
  readonly #linear: RE2JS;
  readonly #most: number;
  readonly engine = 'v8 and re2';

  constructor(regex: RegExp, linear: RE2JS, most: number) {
    this.#regex = regex;
    this.#linear = linear;
    this.#most = most;
  }

  test(input: string): boolean {
    return input.length > this.#most ? this.#linear.test(input) : this.#regex.test(input);
  }

  groups(input: string): readonly string[] | undefined {
    return input.length > this.#most ? linearGroups(this.#linear, input) : v8Groups(this.#regex, input);
  }
}

function v8Groups(regex: RegExp, input: string): readonly string[] | undefined {
  return regex.exec(input)?.map((group: string | undefined) => group ?? '');
}

function linearGroups(regex: RE2JS, input: string): readonly string[] | undefined {
  const matcher = regex.matcher(input);
  if (!matcher.find()) return undefined;
  return Array.from({ length: matcher.groupCount() + 1 }, (_, index) => matcher.group(index) ?? '');
}
