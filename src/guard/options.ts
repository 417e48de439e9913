import type { Collections } from '../collections/index.js';
import { WafStateError } from '../contract/errors.js';
import { choiceOption, numberOption, refuseUnknownOptions } from '../contract/options.js';
import type { RuleSet } from '../seclang/rule-set.js';
import type { GuardEvent } from './events.js';
import { TrustedProxies } from './trusted-proxies.js';

export interface GuardOptions {
  /** Made with the rules' own options: `new Collections({ backend, ...rules.collectionOptions })`. */
  readonly collections: Collections;
  readonly rules: RuleSet;
  /**
   * When the state of a request is stored. `after` (default): once the head of the response is out, so that no client waits. `before`: the
   * response goes out once its state is stored, and is a 503 where it could not be.
   */
  readonly flush?: 'after' | 'before' | undefined;
  /**
   * Addresses and networks (`10.0.0.0/8`) whose X-Forwarded-For is believed, and `unix` for a peer on a Unix socket. Default none:
   * the client is the peer of the connection.
   */
  readonly trustedProxies?: readonly string[] | undefined;
  /** IPv6 clients are one by this many leading bits, 1 to 128. Default 64, what one subscriber has. */
  readonly ipv6Prefix?: number | undefined;
  /** Bytes of a form's body; beyond them the answer is 413. Default 131072, as ModSecurity has it for bodies without files. */
  readonly bodyLimit?: number | undefined;
  /** Seconds that a form's body may take to arrive; after them the answer is 408. Default 10. */
  readonly bodyTimeout?: number | undefined;
  /** Takes what happened, in a microtask of its own. What it throws is the process's uncaught exception. */
  readonly log?: ((event: GuardEvent) => void) | undefined;
}

export interface GuardSettings {
  readonly collections: Collections;
  readonly rules: RuleSet;
  readonly flushesBefore: boolean;
  readonly trustedProxies: TrustedProxies;
  readonly ipv6Prefix: number;
  readonly bodyLimit: number;
  /** Milliseconds. */
  readonly bodyTimeout: number;
  readonly log: ((event: GuardEvent) => void) | undefined;
}

const OWNER = 'guard';
const OPTIONS = [
  'collections',
  'rules',
  'flush',
  'trustedProxies',
  'ipv6Prefix',
  'bodyLimit',
  'bodyTimeout',
  'log',
] as const satisfies readonly (keyof GuardOptions)[];

/** Throws `invalid_option`. */
export function resolveGuard(options: GuardOptions): GuardSettings {
  refuseUnknownOptions(OWNER, options, OPTIONS);
  const { collections, rules, log } = options;
  // Not by instanceof: an application may have loaded both copies of the package.
  if (typeof (collections as Collections | undefined)?.begin !== 'function') {
    throw invalid('collections', 'must be a Collections over an opened engine');
  }
  if (typeof (rules as RuleSet | undefined)?.itemsOf !== 'function') {
    throw invalid('rules', 'must be what compileRules or loadRules returned');
  }
  if (log !== undefined && typeof log !== 'function') throw invalid('log', 'must be a function');
  return {
    collections,
    rules,
    log,
    flushesBefore: choiceOption(OWNER, 'flush', options.flush, ['after', 'before']) === 'before',
    trustedProxies: new TrustedProxies(options.trustedProxies ?? []),
    ipv6Prefix: numberOption(OWNER, 'ipv6Prefix', options.ipv6Prefix, {
      initial: 64,
      least: 1,
      most: 128,
      unit: 'bits',
    }),
    bodyLimit: numberOption(OWNER, 'bodyLimit', options.bodyLimit, {
      initial: 131_072,
      least: 0,
      most: 2 ** 30,
      unit: 'bytes',
    }),
    bodyTimeout:
      1000 *
      numberOption(OWNER, 'bodyTimeout', options.bodyTimeout, {
        initial: 10,
        least: 0.001,
        most: 86_400,
        unit: 'seconds',
        fractions: true,
      }),
  };
}

function invalid(option: string, requirement: string): WafStateError {
  return new WafStateError('invalid_option', `${OWNER}: ${option} ${requirement}`, { details: { option } });
}
