import type { Transaction } from '../collections/index.js';
import { encodeText, fromBytes } from '../contract/bytes.js';
import { refuseUnknownOptions } from '../contract/options.js';
import { parseActionList } from './action-list.js';
import { checkTransaction } from './check-facts.js';
import { Diagnostics } from './diagnostics.js';
import { Effects } from './effects.js';
import type { Expand } from './macro.js';
import { joinLines } from './piece.js';
import { loadError, quote } from './position.js';
import { ruleBytes } from './rule-text.js';
import { compileStateAction, STATE_ACTION_NAMES, type StateAction } from './state-action.js';
import { isOfTransaction, readMacro } from './variable-read.js';

/**
 * What `%{VARIABLE.key}` stands for in the engine that runs the rules; `undefined` = nothing. `variable` comes in upper case,
 * `key` as written. Never asked for what the transaction knows itself: variables of tx and the collections, SESSIONID, USERID and RESOURCE.
 */
export type ResolveMacro = (variable: string, key: string | undefined) => string | Uint8Array | undefined;

export interface CompileActionsOptions {
  /** The name of the rule file in error messages. Default `actions`. */
  readonly file?: string | undefined;
  /** The line of the file on which `text` begins. Default 1. */
  readonly line?: number | undefined;
  /** Where what cannot be done as asked is counted. Default: counters of the plan's own. */
  readonly diagnostics?: Diagnostics | undefined;
}

/** The actions of one rule that change state, compiled once for any number of transactions. Immutable but for its counters. */
export interface ActionPlan {
  /**
   * Carries the actions out in their order, each seeing what those before it did, all of them or, where it throws, none. With several
   * matched values give one resolver for each: every setvar runs for each of them, the other actions for the first
   * alone.
   *
   * An action that cannot be done (its collection is not bound, its key came out empty, a limit is met) is dropped alone and counted.
   * Throws what a bind throws when the engine fails (see `Transaction.bindSync`), `missing_feature` where the engine cannot load
   * synchronously, `closed`, and what `resolveMacro` throws.
   */
  apply(transaction: Transaction, resolveMacro: ResolveMacro, ...further: ResolveMacro[]): void;
  readonly diagnostics: Diagnostics;
}

/**
 * Compiles an action list such as `initcol:ip=%{REMOTE_ADDR},setvar:ip.hits=+1,expirevar:ip.hits=60`: initcol, setsid, setuid,
 * setrsc, setvar, expirevar and deprecatevar, and nothing else. A backslash before a line's end continues the line.
 *
 * Throws `invalid_option` with file, line and fix for whatever can be known to be wrong before a request. Takes one pass over the text.
 */
export function compileActions(text: string, options: CompileActionsOptions = {}): ActionPlan {
  refuseUnknownOptions('compileActions', options, ['file', 'line', 'diagnostics']);
  const { file = 'actions', line = 1, diagnostics = new Diagnostics() } = options;
  const bytes = ruleBytes('compileActions', text, { file, line });
  const actions = parseActionList(joinLines(bytes, file, line)).map((action) => {
    const compiled = compileStateAction(action);
    if (compiled !== undefined) return compiled;
    throw loadError(
      action.position,
      action.name,
      `${quote(action.name)} is no action that changes state`,
      `give compileActions ${STATE_ACTION_NAMES.join(', ')} only`,
    );
  });
  return new CompiledPlan(actions, diagnostics);
}

class CompiledPlan implements ActionPlan {
  readonly #actions: readonly StateAction[];
  readonly diagnostics: Diagnostics;

  constructor(actions: readonly StateAction[], diagnostics: Diagnostics) {
    this.#actions = actions;
    this.diagnostics = diagnostics;
    Object.freeze(this);
  }

  apply(transaction: Transaction, resolveMacro: ResolveMacro, ...further: ResolveMacro[]): void {
    checkTransaction('apply', transaction);
    const mark = transaction.checkpoint();
    const effects = new Effects(transaction, this.diagnostics);
    try {
      effects.run(this.#actions, resolver(transaction, resolveMacro), true);
      for (const resolve of further) effects.run(this.#actions, resolver(transaction, resolve), false);
    } catch (error) {
      transaction.rollback(mark);
      throw error;
    }
  }
}

function resolver(transaction: Transaction, resolveMacro: ResolveMacro): Expand {
  return (macro) => {
    if (isOfTransaction(macro)) return readMacro(transaction, macro);
    const value = resolveMacro(macro.variable, macro.key);
    if (typeof value !== 'string') return value === undefined ? undefined : fromBytes(value);
    // A client's bytes may have become text without being any.
    return encodeText(value.toWellFormed());
  };
}
