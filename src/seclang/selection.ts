import type { Pair } from './request.js';
import { isFact } from './state-action.js';
import { lower, type Selector, selects, type Target } from './targets.js';
import { isReadable, readVariable } from './variable-read.js';
import type { Context, Variable } from './variables.js';

/** What a rule's target comes to for this request: names as MATCHED_VAR_NAME shows them, and values. */
export function collectTarget(target: Target, context: Context): readonly Pair[] {
  const { name, variable, selector, counts, exclusions } = target;
  const members = membersOf(variable, selector, context).filter(
    ([member]) => !exclusions.some((exclusion) => selects(exclusion, member)),
  );
  if (counts) {
    const suffix =
      selector === undefined ? '' : `:${selector.type === 'name' ? selector.name : `/${selector.source}/`}`;
    return [[`&${name}${suffix}`, String(members.length)]];
  }
  return members.map(([member, value]) => [variable.type === 'single' ? name : `${name}:${member}`, value]);
}

function membersOf(variable: Variable, selector: Selector | undefined, context: Context): readonly Pair[] {
  switch (variable.type) {
    case 'single': {
      const value = variable.read(context);
      return value === undefined ? [] : [['', value]];
    }
    case 'members': {
      const list = variable.list(context);
      return selector === undefined ? list : list.filter(([name]) => selects(selector, name));
    }
    case 'scope': {
      const { transaction } = context;
      const { scope } = variable;
      if (!isReadable(transaction, scope)) return [];
      if (selector?.type === 'name') {
        const value = readVariable(transaction, scope, selector.name);
        // A fact keeps its case, a variable has none.
        const name = scope !== 'tx' && isFact(selector.name) ? selector.name : selector.lower;
        return value === undefined ? [] : [[name, value]];
      }
      const names = transaction.list(scope).map(([name]) => Buffer.from(name, 'utf8').toString('latin1'));
      return names
        .filter((name) => selects(selector, name))
        .map((name): Pair => [name, readVariable(transaction, scope, name) ?? '']);
    }
  }
}

/** The value that a macro names: the first member of that name. */
export function memberOf(
  variable: Variable | undefined,
  key: string | undefined,
  context: Context,
): string | undefined {
  if (variable === undefined) return undefined;
  if (variable.type === 'single') return variable.read(context);
  if (key === undefined) return undefined;
  if (variable.type === 'scope') return readVariable(context.transaction, variable.scope, key);
  const wanted = lower(key);
  return variable.list(context).find(([name]) => lower(name) === wanted)?.[1];
}
