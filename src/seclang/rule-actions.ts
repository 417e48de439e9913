import type { Action } from './action-list.js';
import { macrosOf, parseTemplate, type Template } from './macro.js';
import { loadError, type Position, quote } from './position.js';
import type { Control, Disruption, EngineMode, IdRange, Phase } from './rule.js';
import { compileStateAction, type StateAction } from './state-action.js';
import { type Transformation, transformationOf } from './transformation/transformations.js';
import { unsupported } from './unsupported.js';
import { VARIABLES } from './variables.js';

/** An action list of a rule or of SecDefaultAction, compiled; what is not in it is undefined or empty. */
export interface RuleActions {
  id: number | undefined;
  phase: Phase | undefined;
  disruption: Disruption | undefined;
  status: number | undefined;
  skip: number;
  skipAfter: string | undefined;
  log: boolean | undefined;
  auditLog: boolean | undefined;
  message: Template | undefined;
  logData: Template | undefined;
  tags: Template[];
  severity: string | undefined;
  revision: string | undefined;
  chain: boolean;
  capture: boolean;
  /** Whether a `t:none` takes those of the default action away. */
  ownTransformations: boolean;
  transformations: Transformation[];
  stateActions: StateAction[];
  controls: Control[];
}

type Compile = (into: RuleActions, value: string, action: Action) => void;

/** Throws load errors. */
export function compileRuleActions(actions: readonly Action[]): RuleActions {
  const into: RuleActions = {
    id: undefined,
    phase: undefined,
    disruption: undefined,
    status: undefined,
    skip: 0,
    skipAfter: undefined,
    log: undefined,
    auditLog: undefined,
    message: undefined,
    logData: undefined,
    tags: [],
    severity: undefined,
    revision: undefined,
    chain: false,
    capture: false,
    ownTransformations: false,
    transformations: [],
    stateActions: [],
    controls: [],
  };
  for (const action of actions) {
    const stateful = compileStateAction(action);
    if (stateful !== undefined) {
      for (const template of templatesOf(stateful)) checkMacros(template, action.position);
      into.stateActions.push(stateful);
      continue;
    }
    const { name, value, position } = action;
    if (Object.hasOwn(WITHOUT_VALUE, name)) {
      if (value !== undefined) throw loadError(position, name, `${name} takes no value`, `write ${name}`);
      (WITHOUT_VALUE[name] as (into: RuleActions) => void)(into);
    } else if (Object.hasOwn(WITH_VALUE, name)) {
      if (value === undefined || value === '') {
        throw loadError(position, name, `${name} has no value`, `write ${name}: and its value`);
      }
      (WITH_VALUE[name] as Compile)(into, value, action);
    } else if (name === 'allow') into.disruption = { type: 'allow', scope: allowScope(value, position) };
    else throw unsupported(position, name, `there is no action ${quote(name)} here`);
  }
  return into;
}

const WITHOUT_VALUE: Readonly<Record<string, (into: RuleActions) => void>> = {
  pass: (into) => {
    into.disruption = { type: 'pass' };
  },
  deny: (into) => {
    into.disruption = { type: 'deny' };
  },
  drop: (into) => {
    into.disruption = { type: 'drop' };
  },
  block: (into) => {
    into.disruption = { type: 'block' };
  },
  chain: (into) => {
    into.chain = true;
  },
  capture: (into) => {
    into.capture = true;
  },
  log: (into) => {
    into.log = true;
    into.auditLog ??= true;
  },
  nolog: (into) => {
    into.log = false;
    into.auditLog = false;
  },
  auditlog: (into) => {
    into.auditLog = true;
  },
  noauditlog: (into) => {
    into.auditLog = false;
  },
};

const PHASES: Readonly<Record<string, Phase>> = {
  1: 1,
  2: 2,
  3: 3,
  4: 4,
  5: 5,
  request: 2,
  response: 4,
  logging: 5,
};

/** Accepted and without effect: they say something about the rule to people. */
const ignored: Compile = () => undefined;

const WITH_VALUE: Readonly<Record<string, Compile>> = {
  id: (into, value, { position }) => {
    into.id = integer('id', value, 1, Number.MAX_SAFE_INTEGER, position);
  },
  phase: (into, value, { position }) => {
    const phase = Object.hasOwn(PHASES, value.toLowerCase()) ? PHASES[value.toLowerCase()] : undefined;
    if (phase === undefined) {
      throw loadError(
        position,
        'phase',
        `there is no phase ${quote(value)}`,
        'write 1 to 5, request, response or logging',
      );
    }
    into.phase = phase;
  },
  status: (into, value, { position }) => {
    into.status = integer('status', value, 100, 599, position);
  },
  redirect: (into, value, { position }) => {
    into.disruption = { type: 'redirect', location: macros(value, position) };
  },
  skip: (into, value, { position }) => {
    into.skip = integer('skip', value, 1, 1_000_000, position);
  },
  skipafter: (into, value) => {
    into.skipAfter = value;
  },
  msg: (into, value, { position }) => {
    into.message = macros(value, position);
  },
  logdata: (into, value, { position }) => {
    into.logData = macros(value, position);
  },
  tag: (into, value, { position }) => {
    into.tags.push(macros(value, position));
  },
  severity: (into, value) => {
    into.severity = value;
  },
  rev: (into, value) => {
    into.revision = value;
  },
  ver: ignored,
  maturity: ignored,
  accuracy: ignored,
  t: (into, value, { position }) => {
    if (value.toLowerCase() === 'none') {
      into.ownTransformations = true;
      into.transformations = [];
      return;
    }
    const transformation = transformationOf(value);
    if (transformation === undefined)
      throw unsupported(position, `t:${value}`, `there is no transformation ${quote(value)} here`);
    into.transformations.push(transformation);
  },
  ctl: (into, value, { position }) => {
    const control = compileControl(value, position);
    if (control !== undefined) into.controls.push(control);
  },
};

/** Of ModSecurity's parts that have no counterpart here. */
const CONTROLS_WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  'auditengine',
  'auditlogparts',
  'debugloglevel',
  'requestbodyaccess',
  'forcerequestbodyvariable',
  'requestbodyprocessor',
]);

function compileControl(text: string, position: Position): Control | undefined {
  const equals = text.indexOf('=');
  if (equals === -1)
    throw loadError(position, 'ctl', `ctl has no = in ${quote(text)}`, 'write ctl:ruleEngine=Off');
  const name = text.slice(0, equals).trim().toLowerCase();
  const value = text.slice(equals + 1).trim();
  if (CONTROLS_WITHOUT_EFFECT.has(name)) return undefined;
  switch (name) {
    case 'ruleengine':
      return { type: 'ruleEngine', mode: parseEngineMode(value, 'ctl', position) };
    case 'ruleremovebyid':
      return { type: 'removeById', ranges: parseIdRanges([value], 'ctl', position) };
    case 'ruleremovebytag':
      return { type: 'removeByTag', tag: value };
    default:
      throw unsupported(position, `ctl:${name}`, `there is no ctl:${name} here`);
  }
}

export function parseEngineMode(value: string, construct: string, position: Position): EngineMode {
  switch (value.toLowerCase()) {
    case 'on':
      return 'on';
    case 'off':
      return 'off';
    case 'detectiononly':
      return 'detectionOnly';
    default:
      throw loadError(
        position,
        construct,
        `there is no engine mode ${quote(value)}`,
        'write On, Off or DetectionOnly',
      );
  }
}

/** `1 5-9,12`. */
export function parseIdRanges(words: readonly string[], construct: string, position: Position): IdRange[] {
  const ranges: IdRange[] = [];
  for (const part of words.join(' ').split(/[\s,]+/)) {
    if (part === '') continue;
    const match = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(part);
    const from = Number(match?.[1]);
    const to = match?.[2] === undefined ? from : Number(match[2]);
    if (match === null || from > to) {
      throw loadError(
        position,
        construct,
        `${quote(part)} is no rule id and no range`,
        'write ids and ranges, such as 1 or 1-9',
      );
    }
    ranges.push({ from, to });
  }
  return ranges;
}

function allowScope(value: string | undefined, position: Position): 'transaction' | 'phase' | 'request' {
  if (value === undefined) return 'transaction';
  const scope = value.toLowerCase();
  if (scope === 'phase' || scope === 'request') return scope;
  throw loadError(
    position,
    'allow',
    `there is no allow:${value}`,
    'write allow, allow:phase or allow:request',
  );
}

function integer(name: string, value: string, least: number, most: number, position: Position): number {
  const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw loadError(position, name, `${name} is ${quote(value)}`, `write an integer from ${least} to ${most}`);
}

function macros(text: string, position: Position): Template {
  const template = parseTemplate(text, position);
  checkMacros(template, position);
  return template;
}

/** Throws where a macro names a variable that is not there: it would expand to nothing, silently. */
export function checkMacros(template: Template, position: Position): void {
  for (const { variable, key } of macrosOf(template)) {
    const known = Object.hasOwn(VARIABLES, variable) ? VARIABLES[variable] : undefined;
    if (known === undefined) {
      throw unsupported(
        position,
        variable,
        `there is no variable ${quote(variable)} for the macro %{${variable}}`,
      );
    }
    if (known.type === 'single' && key !== undefined) {
      throw loadError(
        position,
        variable,
        `%{${variable}.…} asks for a member of a variable that has none`,
        `write %{${variable}}`,
      );
    }
    if (known.type !== 'single' && key === undefined && variable !== 'RESOURCE') {
      throw loadError(position, variable, `%{${variable}} names no member`, `write %{${variable}.name}`);
    }
  }
}

function templatesOf(action: StateAction): Template[] {
  switch (action.type) {
    case 'bind':
      return [action.key];
    case 'set':
    case 'add':
    case 'subtract':
      return [action.name, action.value];
    case 'remove':
      return [action.name];
    case 'expire':
      return [action.name, action.seconds];
    case 'deprecate':
      return [action.name, action.amount, action.seconds];
  }
}
