import type { Transaction } from '../collections/index.js';
import { checkBody, checkPhase, checkRequest, checkResponse, checkTransaction } from './check-facts.js';
import { Effects } from './effects.js';
import { type Explanation, explain, type Matching } from './explanation.js';
import { type Expand, expand, type Macro } from './macro.js';
import { type Pair, type RequestFacts, RequestView, type ResponseFacts } from './request.js';
import {
  type Condition,
  type Disruption,
  type EngineMode,
  isIn,
  type Link,
  type Phase,
  type Rule,
} from './rule.js';
import type { RuleSet } from './rule-set.js';
import { collectTarget, memberOf } from './selection.js';
import { isOfTransaction, readMacro } from './variable-read.js';
import { type Context, VARIABLES } from './variables.js';

/** A rule that matched, as a log shows it. Texts are bytes made readable; they may hold what a client sent. */
export interface RuleMatch {
  readonly id: number | undefined;
  readonly phase: Phase;
  readonly message: string | undefined;
  readonly logData: string | undefined;
  readonly tags: readonly string[];
  readonly severity: string | undefined;
  readonly log: boolean;
  readonly auditLog: boolean;
  readonly file: string;
  readonly line: number;
  /** Of a rule that logs or decides: the same without anything that the client sent. */
  readonly explanation: Explanation | undefined;
}

/** What the client is to get instead of the application's answer. */
export interface Decision {
  readonly type: 'deny' | 'drop' | 'redirect';
  /** Of the answer; 0 for drop, which closes the connection without one. */
  readonly status: number;
  readonly location: string | undefined;
  readonly ruleId: number | undefined;
}

const DENY_STATUS = 403;
const REDIRECT_STATUS = 302;

/** One request on its way through the phases. Each is run once, in order; synchronous. */
export class Evaluation {
  readonly #rules: RuleSet;
  readonly #transaction: Transaction;
  readonly #effects: Effects;
  readonly #request: RequestView;
  readonly #context: EvaluationContext;
  readonly #matches: RuleMatch[] = [];
  /** What matched in the rule at hand. */
  #matchings: Matching[] = [];
  readonly #removed: ((rule: Rule) => boolean)[] = [];
  #mode: EngineMode;
  #lastPhase: Phase | 0 = 0;
  #decision: Decision | undefined;
  /** The phases up to this one are let through by an `allow`. */
  #allowedUpTo = 0;

  /** `RuleSet.begin` makes them. */
  constructor(rules: RuleSet, transaction: Transaction, facts: RequestFacts) {
    checkTransaction('begin', transaction);
    checkRequest(facts);
    this.#rules = rules;
    this.#transaction = transaction;
    this.#mode = rules.mode;
    this.#effects = new Effects(transaction, rules.diagnostics);
    this.#request = new RequestView(facts);
    this.#context = new EvaluationContext(this.#request, transaction, rules.collectionOptions.applicationId);
  }

  /** The body, before phase 2. */
  setBody(body: Uint8Array): void {
    checkBody(body);
    this.#request.setBody(body);
  }

  /** The application's answer, before phase 3. */
  setResponse(response: ResponseFacts): void {
    checkResponse(response);
    this.#request.setResponse(response);
  }

  /** Every rule that matched so far, in order. */
  get matches(): readonly RuleMatch[] {
    return this.#matches;
  }

  /** The decision of the phases so far. */
  get decision(): Decision | undefined {
    return this.#decision;
  }

  /**
   * Runs the rules of one phase and returns the decision, if one was taken by now. After a decision phases 2 to 4 do nothing, phase 5
   * runs all the same. Throws what a bind throws when the engine fails; the effects of the rule at hand are undone then,
   * those of earlier rules stay. Throws `unsupported` for a phase that is not after the last.
   */
  run(phase: Phase): Decision | undefined {
    checkPhase(phase, this.#lastPhase);
    this.#lastPhase = phase;
    if (phase !== 5 && (this.#decision !== undefined || phase <= this.#allowedUpTo)) return this.#decision;
    const items = this.#rules.itemsOf(phase);
    let skip = 0;
    let marker: string | undefined;
    for (const item of items) {
      if (this.#mode === 'off') break;
      if (marker !== undefined) {
        if (item.type === 'marker' ? item.name === marker : String(item.id) === marker) marker = undefined;
        continue;
      }
      if (item.type === 'marker') continue;
      if (skip > 0) {
        skip--;
        continue;
      }
      if (this.#removed.some((isRemoved) => isRemoved(item)) || !this.#runRule(item)) continue;
      skip = item.skip;
      marker = item.skipAfter;
      if (this.#disrupt(item)) break;
    }
    return this.#decision;
  }

  #runRule(rule: Rule): boolean {
    this.#context.rule = rule;
    this.#matchings = [];
    const mark = this.#transaction.checkpoint();
    try {
      for (const link of rule.links) if (!this.#runLink(link)) return false;
    } catch (error) {
      this.#transaction.rollback(mark);
      throw error;
    }
    this.#note(rule);
    return true;
  }

  #runLink(link: Link): boolean {
    const { condition } = link;
    if (condition === undefined) {
      this.#effects.run(link.stateActions, this.#expand, true);
      this.#control(link);
      return true;
    }
    const matches = this.#test(condition, link.capture);
    const [first] = matches;
    if (first === undefined) return false;
    this.#matchings.push([condition, first.pair]);
    this.#context.matchedAll = matches.map(({ pair }) => pair);
    matches.forEach(({ pair, groups }, index) => {
      this.#context.matched = pair;
      if (groups !== undefined) this.#capture(groups);
      this.#effects.run(link.stateActions, this.#expand, index === 0);
    });
    this.#control(link);
    return true;
  }

  /** The values that match, in the order of the targets. */
  #test({ targets, transformations, operator, negated }: Condition, capture: boolean): Matched[] {
    const matches: Matched[] = [];
    for (const target of targets) {
      for (const [name, value] of collectTarget(target, this.#context)) {
        let text = value;
        if (!target.counts) for (const transform of transformations) text = transform(text);
        const outcome = operator.run(text, this.#expand, capture && !negated);
        if ((outcome !== false) === negated) continue;
        matches.push({
          pair: [name, text],
          groups: capture && outcome !== false && outcome !== true ? outcome : undefined,
        });
      }
    }
    return matches;
  }

  /** TX:0 is the whole match, TX:1 to TX:9 are its groups. */
  #capture(groups: readonly string[]): void {
    for (let index = 0; index < 10; index++) this.#effects.setLocal(String(index), groups[index]);
  }

  #control(link: Link): void {
    for (const control of link.controls) {
      switch (control.type) {
        case 'ruleEngine':
          this.#mode = control.mode;
          break;
        case 'removeById':
          this.#removed.push(({ id }) => id !== undefined && isIn(id, control.ranges));
          break;
        case 'removeByTag':
          this.#removed.push(({ tags }) => tags.some((tag) => expand(tag, this.#expand) === control.tag));
          break;
      }
    }
  }

  #note(rule: Rule): void {
    const read = (template: Rule['message']) =>
      template === undefined ? undefined : readable(expand(template, this.#expand));
    this.#matches.push({
      id: rule.id,
      phase: rule.phase,
      message: read(rule.message),
      logData: read(rule.logData),
      tags: rule.tags.map((tag) => read(tag) as string),
      severity: rule.severity,
      log: rule.log,
      auditLog: rule.auditLog,
      file: rule.position.file,
      line: rule.position.line,
      explanation:
        rule.log || decisionOf(rule) !== undefined
          ? explain(rule, this.#matchings, this.#context)
          : undefined,
    });
  }

  /** Whether the phase ends here. */
  #disrupt(rule: Rule): boolean {
    const { disruption, phase, id } = rule;
    if (disruption.type === 'allow') {
      if (disruption.scope !== 'phase')
        this.#allowedUpTo = disruption.scope === 'request' && phase <= 2 ? 2 : 4;
      return true;
    }
    const decisive = decisionOf(rule);
    if (decisive === undefined || this.#mode !== 'on') return false;
    const status =
      decisive.type === 'drop'
        ? 0
        : (rule.status ?? (decisive.type === 'redirect' ? REDIRECT_STATUS : DENY_STATUS));
    const location =
      decisive.type === 'redirect' ? readable(expand(decisive.location, this.#expand)) : undefined;
    this.#decision = { type: decisive.type, status, location, ruleId: id };
    return true;
  }

  readonly #expand: Expand = (macro: Macro) => {
    if (isOfTransaction(macro)) return readMacro(this.#transaction, macro);
    return memberOf(VARIABLES[macro.variable], macro.key, this.#context);
  };
}

type Decisive = Extract<Disruption, { type: Decision['type'] }>;

/** What the rule does to a request that it matches. One of phase 5 comes too late. */
function decisionOf({ disruption, phase }: Rule): Decisive | undefined {
  const { type } = disruption;
  return phase !== 5 && (type === 'deny' || type === 'drop' || type === 'redirect')
    ? (disruption as Decisive)
    : undefined;
}

interface Matched {
  readonly pair: Pair;
  readonly groups: readonly string[] | undefined;
}

function readable(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

class EvaluationContext implements Context {
  readonly request: RequestView;
  readonly transaction: Transaction;
  readonly applicationId: string;
  readonly environment = process.env;
  readonly startedAt: bigint;
  matched: Pair | undefined = undefined;
  matchedAll: readonly Pair[] = [];
  rule: Rule | undefined = undefined;

  constructor(request: RequestView, transaction: Transaction, applicationId: string) {
    this.request = request;
    this.transaction = transaction;
    this.applicationId = applicationId;
    this.startedAt = this.now();
  }

  now(): bigint {
    return this.transaction.now();
  }

  ruleFact(name: string): string | undefined {
    const { rule } = this;
    if (rule === undefined) return undefined;
    switch (name) {
      case 'id':
        return rule.id === undefined ? undefined : String(rule.id);
      case 'rev':
        return rule.revision;
      case 'severity':
        return rule.severity;
      case 'msg':
        return this.#text(rule.message);
      case 'logdata':
        return this.#text(rule.logData);
      default:
        return undefined;
    }
  }

  /** RULE facts are the rule's own words: a message that named itself would have no end. */
  #text(template: Rule['message']): string | undefined {
    return template === undefined
      ? undefined
      : expand(template, (macro) =>
          macro.variable === 'RULE'
            ? undefined
            : isOfTransaction(macro)
              ? readMacro(this.transaction, macro)
              : memberOf(VARIABLES[macro.variable], macro.key, this),
        );
  }
}
