import { WafStateError } from '../contract/errors.js';
import type { CollectionName } from '../contract/space.js';
import { type Macro, macrosOf, printTemplate, type Template } from './macro.js';
import type { Link, Phase, Rule } from './rule.js';
import type { RuleSet, RuleWarning } from './rule-set.js';
import type { StateAction } from './state-action.js';
import { lower } from './targets.js';
import { scopeOf } from './variable-read.js';

/**
 * What commonly goes wrong in rules that are right to the letter: a value that never ends, expirevar for what is never set, a
 * collection that nothing binds, a threshold that parallel requests jump over, a number that is none. In the rules' order.
 */
export function lintRules(rules: RuleSet): RuleWarning[] {
  if (typeof rules?.itemsOf !== 'function') {
    throw new WafStateError('invalid_option', 'lintRules takes what compileRules or loadRules gave', {
      details: { option: 'rules' },
    });
  }
  const all = ([1, 2, 3, 4, 5] satisfies Phase[])
    .flatMap((phase) => rules.itemsOf(phase))
    .filter((item): item is Rule => item.type === 'rule');
  const use = new Use(all);
  return all.flatMap((rule) =>
    rule.links
      .flatMap((link) => [
        ...lintActions(link, use),
        ...lintReads(rule, link, use),
        ...lintThreshold(link, use),
      ])
      .map(([construct, text]): RuleWarning => {
        const { file, line } = rule.position;
        return { file, line, construct, message: `${file}:${line}: ${text}` };
      }),
  );
}

type Finding = readonly [construct: string, text: string];

/** What the rules do with which variable, all together. Names with macros in them count by their text. */
class Use {
  readonly bound = new Set<string>();
  readonly written = new Set<string>();
  readonly counted = new Set<string>();
  readonly ended = new Set<string>();
  /** Collections in which a name is computed: nothing can be said of their other names. */
  readonly computed = new Set<string>();
  readonly reported = new Set<string>();

  constructor(rules: readonly Rule[]) {
    for (const action of rules.flatMap(({ links }) => links.flatMap(({ stateActions }) => stateActions))) {
      if (action.type === 'bind') {
        this.bound.add(action.collection);
        continue;
      }
      const name = nameOf(action);
      if (action.name.literal === undefined) this.computed.add(action.scope);
      if (action.type === 'set' || action.type === 'add' || action.type === 'subtract')
        this.written.add(name);
      if (action.type === 'add') this.counted.add(name);
      if (action.type === 'expire' || action.type === 'deprecate' || action.type === 'remove')
        this.ended.add(name);
    }
  }

  /** Each thing is said once, where it comes first. */
  isNew(what: string): boolean {
    if (this.reported.has(what)) return false;
    this.reported.add(what);
    return true;
  }
}

type NamedAction = Exclude<StateAction, { type: 'bind' }>;

function nameOf({ scope, name }: NamedAction): string {
  return `${scope}.${lower(printTemplate(name))}`;
}

const INTEGER = /^\d{1,18}$/;

function* lintActions({ stateActions }: Link, use: Use): Generator<Finding> {
  for (const action of stateActions) {
    if (action.type === 'bind') continue;
    const name = nameOf(action);
    const writes = action.type === 'set' || action.type === 'add';
    const isTimeout = action.name.literal === 'TIMEOUT';
    if (writes && action.scope !== 'tx' && !isTimeout && !use.ended.has(name) && use.isNew(`end ${name}`)) {
      yield ['setvar', `${name} is set and never ends; add expirevar:${name}=SECONDS, or deprecatevar`];
    }
    if (
      (action.type === 'expire' || action.type === 'deprecate') &&
      !use.written.has(name) &&
      !use.computed.has(action.scope) &&
      use.isNew(`set ${name}`)
    ) {
      yield [
        `${action.type}var`,
        `${name} is never set, so its ${action.type}var does nothing; mind the spelling`,
      ];
    }
    if ((action.type === 'add' || action.type === 'subtract') && action.value.literal !== undefined) {
      if (!INTEGER.test(action.value.literal)) {
        yield [
          'setvar',
          `${name} counts by what is no whole number, of which the leading digits are taken; write an integer`,
        ];
      }
    }
    if (action.scope !== 'tx') yield* unbound(action.scope, use);
  }
}

function* lintReads(rule: Rule, { condition, stateActions }: Link, use: Use): Generator<Finding> {
  for (const { variable } of condition?.targets ?? []) {
    if (variable.type === 'scope' && variable.scope !== 'tx') yield* unbound(variable.scope, use);
  }
  const templates: (Template | undefined)[] = [
    condition?.operator.argument,
    rule.message,
    rule.logData,
    ...stateActions.map((action) => ('value' in action ? action.value : undefined)),
  ];
  for (const macro of templates.flatMap((template): Macro[] =>
    template === undefined ? [] : macrosOf(template),
  )) {
    const scope = macro.key === undefined ? undefined : scopeOf(macro.variable);
    if (scope !== undefined && scope !== 'tx') yield* unbound(scope, use);
  }
}

const BINDING: Readonly<Record<CollectionName, string>> = {
  ip: 'initcol:ip=%{REMOTE_ADDR}',
  global: 'initcol:global=global',
  session: 'setsid',
  user: 'setuid',
  resource: 'setrsc',
};

function* unbound(collection: CollectionName, use: Use): Generator<Finding> {
  if (use.bound.has(collection) || !use.isNew(`bind ${collection}`)) return;
  yield [
    collection,
    `${collection} is used and never bound, so it is always empty; add ${BINDING[collection]}`,
  ];
}

function* lintThreshold({ condition }: Link, use: Use): Generator<Finding> {
  if (condition === undefined || condition.operatorName !== 'eq' || condition.negated) return;
  const limit = Number(condition.operator.argument?.literal);
  for (const { variable, selector, counts } of condition.targets) {
    if (variable.type !== 'scope' || variable.scope === 'tx' || counts || selector?.type !== 'name') continue;
    const name = `${variable.scope}.${selector.lower}`;
    if (limit <= 1 || !use.counted.has(name)) continue;
    yield ['@eq', `${name} is counted and tested with @eq, which parallel requests can jump over; use @ge`];
  }
}
