import { readFileSync } from 'node:fs';

/** One case of a case file: steps on a fresh, empty store, and what each must give. See docs/store.md, Case files. */
export interface StoreCase {
  /** `any`, or the kind of store that it is about, without `store.`. */
  readonly kind: string;
  readonly name: string;
  readonly steps: readonly StoreStep[];
}

export interface StoreStep {
  readonly op: string;
  readonly args: Fields;
  readonly expect: Fields;
  /** Keeps the result under this name, for `$name.field` in later steps. */
  readonly save: string | undefined;
}

export type Fields = Readonly<Record<string, unknown>>;

/** What is in a case file, in order. Throws an Error that names the file and the case where it is not as it must be. */
export function readStoreCases(file: string): StoreCase[] {
  const cases = JSON.parse(readFileSync(file, 'utf8')) as unknown;
  if (!Array.isArray(cases)) throw new Error(`${file} must be a list of cases`);
  return cases.map((each, index) => toCase(each, `${file}, case ${index + 1}`));
}

export function toSteps(given: unknown, where: string): StoreStep[] {
  if (!Array.isArray(given)) throw new Error(`${where}: steps must be a list`);
  return given.map((step, index) => {
    const fields = requireFields(step, ['op', 'args', 'expect', 'save'], `${where}, step ${index + 1}`);
    const { op, args = {}, expect = { ok: true }, save } = fields;
    if (typeof op !== 'string') throw new Error(`${where}, step ${index + 1}: op must be text`);
    return {
      op,
      args: requireFields(args, undefined, `${where}, step ${index + 1}, args`),
      expect: requireFields(expect, undefined, `${where}, step ${index + 1}, expect`),
      save: typeof save === 'string' ? save : undefined,
    };
  });
}

function toCase(given: unknown, where: string): StoreCase {
  const { kind, name, steps } = requireFields(given, ['kind', 'name', 'steps', 'theirs'], where);
  if (typeof kind !== 'string' || typeof name !== 'string') {
    throw new Error(`${where}: kind and name must be text`);
  }
  return { kind, name, steps: toSteps(steps, `${where} (${name})`) };
}

function requireFields(given: unknown, known: readonly string[] | undefined, where: string): Fields {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new Error(`${where} must be an object`);
  }
  for (const field of Object.keys(given)) {
    if (known?.includes(field) === false) throw new Error(`${where}: unknown field '${field}'`);
  }
  return given as Fields;
}
