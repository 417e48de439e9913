/**
 * What SEMANTICS of the collections come to, said as plainly as possible and sharing no code with what it judges: a record is a
 * Map, a mutation is a function, a commit runs the functions.
 */

export interface ModelVariable {
  value?: string | undefined;
  deadline?: bigint | undefined;
  clock?: bigint | undefined;
}

export interface ModelRecord {
  timeout: bigint | undefined;
  updated: bigint;
  variables: Map<string, ModelVariable>;
}

export type ModelMutation = (record: ModelRecord | undefined, now: bigint) => ModelRecord | undefined;

export function copy(record: ModelRecord | undefined): ModelRecord | undefined {
  if (record === undefined) return undefined;
  const variables = new Map([...record.variables].map(([name, variable]) => [name, { ...variable }]));
  return { ...record, variables };
}

export function live(record: ModelRecord | undefined, now: bigint): ModelRecord | undefined {
  return record?.timeout !== undefined && record.updated + record.timeout <= now ? undefined : record;
}

/** The record after a batch; the given one is not changed. */
export function commit(
  record: ModelRecord | undefined,
  log: readonly ModelMutation[],
  now: bigint,
): ModelRecord | undefined {
  let current = copy(live(record, now));
  for (const mutation of log) current = mutation(current, now);
  if (current !== undefined && now > current.updated) current.updated = now;
  return current;
}

export function visible(record: ModelRecord | undefined, now: bigint): [string, string][] {
  const entries: [string, string][] = [];
  for (const [name, { value, deadline }] of live(record, now)?.variables ?? []) {
    if (value !== undefined && (deadline === undefined || deadline > now)) entries.push([name, value]);
  }
  return entries.sort(([a], [b]) => (a < b ? -1 : 1));
}

/** A mutation of one variable: an expired one is forgotten first. */
function onVariable(
  name: string,
  change: (variable: ModelVariable | undefined, now: bigint) => ModelVariable | undefined,
): ModelMutation {
  return (record, now) => {
    const next = record ?? fresh(now);
    const found = next.variables.get(name);
    const current = found?.deadline !== undefined && found.deadline <= now ? undefined : found;
    const changed = change(current, now);
    if (changed === undefined) next.variables.delete(name);
    else next.variables.set(name, changed);
    return next;
  };
}

function fresh(now: bigint): ModelRecord {
  return { timeout: undefined, updated: now, variables: new Map() };
}

export const set = (name: string, value: string): ModelMutation =>
  onVariable(name, (variable, now) => ({ ...variable, value, clock: variable?.clock ?? now }));

export const add = (name: string, delta: bigint): ModelMutation =>
  onVariable(name, (variable, now) => ({
    ...variable,
    value: String(number(variable?.value) + delta),
    clock: variable?.clock ?? now,
  }));

export const remove = (name: string): ModelMutation => onVariable(name, () => undefined);

export const expire = (name: string, deadline: bigint): ModelMutation =>
  onVariable(name, (variable) => ({ ...variable, deadline }));

export const deprecate = (name: string, amount: bigint, period: bigint, at: bigint): ModelMutation =>
  onVariable(name, (variable) => {
    if (variable?.clock === undefined || at < variable.clock) return variable;
    const periods = (at - variable.clock) / period;
    const value = number(variable.value);
    const left = value - amount * periods;
    return {
      ...variable,
      clock: variable.clock + periods * period,
      value: periods === 0n || value <= 0n ? variable.value : String(left < 0n ? 0n : left),
    };
  });

export const timeout =
  (duration: bigint | undefined): ModelMutation =>
  (record, now) => ({ ...(record ?? fresh(now)), timeout: duration });

export const removeRecord: ModelMutation = () => undefined;

function number(value: string | undefined): bigint {
  return BigInt(Number.parseInt(value ?? '0', 10) || 0);
}
