import { COLLECTION_SPACES } from '../contract/space.js';
import { expand, type Macro, printTemplate, type Template } from './macro.js';
import type { Pair } from './request.js';
import type { Condition, Rule } from './rule.js';
import { memberOf } from './selection.js';
import { type Context, VARIABLES } from './variables.js';

/** Why a rule matched, in the rule's words: fit for a log that must not hold what a client sent. */
export interface Explanation {
  /** The rule's msg. Macros stand as written, but for those whose value no client can choose. */
  readonly message: string | undefined;
  /** The rule's tags, by the same rule. */
  readonly tags: readonly string[];
  /** One for each condition of the chain, in order; none for SecAction. */
  readonly causes: readonly Cause[];
}

export interface Cause {
  /** As the rule writes it: `IP:failures @ge 10`. */
  readonly condition: string;
  /** What a count or a counter of a collection was, where the condition compares its size. */
  readonly value: number | undefined;
}

/** A condition with the first value that matched it. */
export type Matching = readonly [condition: Condition, pair: Pair];

// What the server, the clock and the rule say. Not SERVER_NAME, which is the Host header.
const SAFE = new Set([
  'REMOTE_ADDR',
  'REMOTE_HOST',
  'REMOTE_PORT',
  'SERVER_ADDR',
  'SERVER_PORT',
  'REQUEST_METHOD',
  'REQUEST_PROTOCOL',
  'RESPONSE_STATUS',
  'UNIQUE_ID',
  'WEBAPPID',
  'DURATION',
]);

export function explain(rule: Rule, matchings: readonly Matching[], context: Context): Explanation {
  const show = (macro: Macro): string | undefined =>
    SAFE.has(macro.variable) || macro.variable.startsWith('TIME')
      ? memberOf(VARIABLES[macro.variable], macro.key, context)
      : printTemplate({ parts: [macro], literal: undefined });
  const read = (template: Template) => Buffer.from(expand(template, show), 'latin1').toString('utf8');
  return {
    message: rule.message && read(rule.message),
    tags: rule.tags.map(read),
    causes: matchings.map(([condition, pair]) => ({
      condition: Buffer.from(condition.written, 'latin1').toString('utf8'),
      value: sizeOf(condition, pair),
    })),
  };
}

const COMPARISONS = new Set(['ge', 'gt', 'le', 'lt']);
const COLLECTION_PREFIX = new RegExp(`^(&|(${Object.keys(COLLECTION_SPACES).join('|')}):)`, 'i');

/** Text that a rule has put into a collection may be a client's; what is compared by size is a counter. */
function sizeOf({ operatorName }: Condition, [name, value]: Pair): number | undefined {
  if (!COMPARISONS.has(operatorName) || !COLLECTION_PREFIX.test(name)) return undefined;
  return /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
}
