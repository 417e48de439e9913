import { FACT_NAMES } from '../collections/index.js';
import { TEN_YEARS } from '../contract/clock.js';
import { COLLECTION_SPACES, type CollectionName } from '../contract/space.js';
import type { Action } from './action-list.js';
import { parseTemplate, type Template } from './macro.js';
import { loadError, type Position, quote } from './position.js';

/** An action that changes what is kept, compiled. */
export type StateAction = BindAction | SetAction | AddAction | RemoveAction | ExpireAction | DeprecateAction;

export interface BindAction {
  readonly type: 'bind';
  readonly collection: CollectionName;
  readonly key: Template;
}

interface VariableAction {
  readonly scope: StateScope;
  readonly name: Template;
}

export interface SetAction extends VariableAction {
  readonly type: 'set';
  readonly value: Template;
}

/** `=+n` and `=-n`: the sign is the rule's, whatever the macros behind it become. */
export interface AddAction extends VariableAction {
  readonly type: 'add' | 'subtract';
  readonly value: Template;
}

export interface RemoveAction extends VariableAction {
  readonly type: 'remove';
}

export interface ExpireAction extends VariableAction {
  readonly type: 'expire';
  readonly scope: CollectionName;
  readonly seconds: Template;
}

export interface DeprecateAction extends VariableAction {
  readonly type: 'deprecate';
  readonly scope: CollectionName;
  readonly amount: Template;
  readonly seconds: Template;
}

export type StateScope = CollectionName | 'tx';

const COMPILERS: Readonly<Record<string, (value: string, position: Position) => StateAction>> = {
  initcol: compileInitcol,
  setsid: (value, position) => compileBind('setsid', 'session', value, position),
  setuid: (value, position) => compileBind('setuid', 'user', value, position),
  setrsc: (value, position) => compileBind('setrsc', 'resource', value, position),
  setvar: compileSetvar,
  expirevar: compileExpirevar,
  deprecatevar: compileDeprecatevar,
};

export const STATE_ACTION_NAMES = Object.keys(COMPILERS) as readonly string[];

/** Undefined where the action is none that changes state. Throws load errors. */
export function compileStateAction(action: Action): StateAction | undefined {
  if (!Object.hasOwn(COMPILERS, action.name)) return undefined;
  if (action.value === undefined || action.value === '') {
    throw loadError(
      action.position,
      action.name,
      `${action.name} has no value`,
      `write ${EXAMPLES[action.name]}`,
    );
  }
  return (COMPILERS[action.name] as (typeof COMPILERS)[string])(action.value, action.position);
}

const EXAMPLES: Readonly<Record<string, string>> = {
  initcol: 'initcol:ip=%{REMOTE_ADDR}',
  setsid: 'setsid:%{REQUEST_COOKIES.session}',
  setuid: 'setuid:%{ARGS.user}',
  setrsc: 'setrsc:%{REQUEST_FILENAME}',
  setvar: 'setvar:ip.counter=+1',
  expirevar: 'expirevar:ip.counter=60',
  deprecatevar: 'deprecatevar:ip.counter=1/60',
};

const COLLECTIONS = Object.keys(COLLECTION_SPACES) as CollectionName[];

function compileInitcol(value: string, position: Position): BindAction {
  const [collection, key] = splitAtEquals('initcol', value, position);
  return compileBind('initcol', toCollection('initcol', collection, position), key, position);
}

function compileBind(
  action: string,
  collection: CollectionName,
  key: string,
  position: Position,
): BindAction {
  if (key === '') {
    throw loadError(
      position,
      action,
      `${action} has an empty key: all clients would share one record`,
      `write ${EXAMPLES[action]}`,
    );
  }
  return { type: 'bind', collection, key: parseTemplate(key, position) };
}

function compileSetvar(value: string, position: Position): SetAction | AddAction | RemoveAction {
  const removes = value.startsWith('!');
  const target = removes ? value.slice(1) : value;
  const equals = equalsIn(target);
  if (removes && equals !== -1) {
    throw loadError(
      position,
      'setvar',
      'setvar with ! removes a variable and takes no value',
      'drop the ! or the value',
    );
  }
  const [scope, name] = splitTarget('setvar', equals === -1 ? target : target.slice(0, equals), position);
  const fact = scope !== 'tx' && FACTS.has(name.literal ?? '') ? name.literal : undefined;
  if (fact !== undefined && fact !== 'TIMEOUT') {
    throw loadError(
      position,
      'setvar',
      `${scope}.${fact} is a fact of the record and read-only`,
      `name the variable otherwise, or in lower case; ${scope}.TIMEOUT is the one fact that can be set`,
    );
  }
  if (removes) return { type: 'remove', scope, name };
  const text = equals === -1 ? '1' : target.slice(equals + 1);
  const sign = text[0];
  if (sign === '+' || sign === '-') {
    if (fact !== undefined) {
      throw loadError(
        position,
        'setvar',
        `${scope}.TIMEOUT cannot be counted up or down`,
        'set it to its seconds',
      );
    }
    return {
      type: sign === '+' ? 'add' : 'subtract',
      scope,
      name,
      value: parseTemplate(text.slice(1), position),
    };
  }
  const template = parseTemplate(text, position);
  if (fact !== undefined) checkSeconds('setvar', template, position, true);
  return { type: 'set', scope, name, value: template };
}

function compileExpirevar(value: string, position: Position): ExpireAction {
  const [target, seconds] = splitAtEquals('expirevar', value, position);
  const [scope, name] = splitKeptTarget('expirevar', target, position);
  const template = parseTemplate(seconds, position);
  checkSeconds('expirevar', template, position, true);
  return { type: 'expire', scope, name, seconds: template };
}

function compileDeprecatevar(value: string, position: Position): DeprecateAction {
  const [target, rate] = splitAtEquals('deprecatevar', value, position);
  const [scope, name] = splitKeptTarget('deprecatevar', target, position);
  const slash = indexOutsideMacros(rate, '/');
  if (slash === -1) {
    throw loadError(
      position,
      'deprecatevar',
      'deprecatevar has no / between the amount and the seconds',
      `write ${EXAMPLES['deprecatevar']}: 1 less every 60 seconds`,
    );
  }
  const seconds = parseTemplate(rate.slice(slash + 1), position);
  checkSeconds('deprecatevar', seconds, position, false);
  return { type: 'deprecate', scope, name, amount: parseTemplate(rate.slice(0, slash), position), seconds };
}

function splitAtEquals(action: string, value: string, position: Position): [left: string, right: string] {
  const equals = equalsIn(value);
  if (equals === -1) {
    throw loadError(position, action, `${action} has no = in ${quote(value)}`, `write ${EXAMPLES[action]}`);
  }
  return [value.slice(0, equals), value.slice(equals + 1)];
}

function equalsIn(value: string): number {
  return indexOutsideMacros(value, '=');
}

/** A macro may hold the character itself: `%{ARGS.a=b}`. */
function indexOutsideMacros(text: string, character: string): number {
  let at = 0;
  for (;;) {
    const found = text.indexOf(character, at);
    const open = text.indexOf('%{', at);
    if (found === -1 || open === -1 || found < open) return found;
    const close = text.indexOf('}', open);
    if (close === -1) return found;
    at = close + 1;
  }
}

function splitTarget(
  action: string,
  target: string,
  position: Position,
): [scope: StateScope, name: Template] {
  const dot = target.indexOf('.');
  if (dot < 1 || dot === target.length - 1) {
    throw loadError(
      position,
      action,
      `${action} needs a collection and a name, got ${quote(target)}`,
      `write ${EXAMPLES[action]}`,
    );
  }
  const word = target.slice(0, dot);
  const name = parseTemplate(target.slice(dot + 1), position);
  if (word.trim().toLowerCase() === 'tx') return ['tx', name];
  return [toCollection(action, word, position), name];
}

function splitKeptTarget(action: string, target: string, position: Position): [CollectionName, Template] {
  const [scope, name] = splitTarget(action, target, position);
  if (scope !== 'tx') return [scope, name];
  throw loadError(
    position,
    action,
    `${action} is not for tx, which ends with the transaction`,
    `name a variable of ${COLLECTIONS.join(', ')}`,
  );
}

function toCollection(action: string, word: string, position: Position): CollectionName {
  const name = word.trim().toLowerCase();
  if (Object.hasOwn(COLLECTION_SPACES, name)) return name as CollectionName;
  throw loadError(
    position,
    action,
    `there is no collection ${quote(word)}`,
    `the collections are ${COLLECTIONS.join(', ')}${action === 'setvar' ? ', and tx' : ''}`,
  );
}

const FACTS: ReadonlySet<string> = new Set(FACT_NAMES);

export function isFact(name: string): boolean {
  return FACTS.has(name);
}

const SECONDS = /^(\d{1,9})(?:\.(\d{1,9}))?$/;

/** Seconds as rules write them, to the nanosecond; undefined where they are none, negative or beyond ten years. */
export function readSeconds(text: string): number | undefined {
  const trimmed = text.trim();
  const seconds = SECONDS.test(trimmed) ? Number(trimmed) : Number.NaN;
  return seconds <= TEN_YEARS ? seconds : undefined;
}

function checkSeconds(action: string, template: Template, position: Position, mayBeZero: boolean): void {
  if (template.literal === undefined) return;
  const seconds = readSeconds(template.literal);
  if (seconds !== undefined && (seconds > 0 || mayBeZero)) return;
  throw loadError(
    position,
    action,
    `${action} has ${quote(template.literal)} where seconds are due`,
    `write ${mayBeZero ? '0' : 'more than 0'} to ${TEN_YEARS} seconds (ten years), or a macro`,
  );
}
