import type { Template } from './macro.js';
import type { Operator } from './operators.js';
import type { Position } from './position.js';
import type { StateAction } from './state-action.js';
import type { Target } from './targets.js';
import type { Transformation } from './transformation/transformations.js';

export type Phase = 1 | 2 | 3 | 4 | 5;
export type EngineMode = 'on' | 'off' | 'detectionOnly';

/** What ends a request, or part of its rules. */
export type Disruption =
  | { readonly type: 'deny' | 'drop' }
  | { readonly type: 'pass' | 'block' }
  | { readonly type: 'allow'; readonly scope: 'transaction' | 'phase' | 'request' }
  | { readonly type: 'redirect'; readonly location: Template };

/** A change of the rules for the rest of one request. */
export type Control =
  | { readonly type: 'ruleEngine'; readonly mode: EngineMode }
  | { readonly type: 'removeById'; readonly ranges: readonly IdRange[] }
  | { readonly type: 'removeByTag'; readonly tag: string };

export interface IdRange {
  readonly from: number;
  readonly to: number;
}

export function isIn(id: number, ranges: readonly IdRange[]): boolean {
  return ranges.some(({ from, to }) => id >= from && id <= to);
}

/** One SecRule or SecAction: a rule by itself, or a link of a chain. */
export interface Link {
  /** Undefined: a SecAction, which always matches. */
  readonly condition: Condition | undefined;
  readonly stateActions: readonly StateAction[];
  readonly controls: readonly Control[];
  readonly capture: boolean;
}

export interface Condition {
  readonly targets: readonly Target[];
  readonly transformations: readonly Transformation[];
  readonly operator: Operator;
  /** Lower case, without the @. */
  readonly operatorName: string;
  readonly negated: boolean;
  /** The targets and the operator in the rule's own words. */
  readonly written: string;
}

/** A whole rule: all of its links have to match. */
export interface Rule {
  readonly type: 'rule';
  readonly id: number | undefined;
  readonly phase: Phase;
  readonly links: readonly Link[];
  readonly disruption: Disruption;
  /** Of deny and redirect, where the rule gives one. */
  readonly status: number | undefined;
  readonly skip: number;
  readonly skipAfter: string | undefined;
  readonly log: boolean;
  readonly auditLog: boolean;
  readonly message: Template | undefined;
  readonly logData: Template | undefined;
  readonly tags: readonly Template[];
  readonly severity: string | undefined;
  readonly revision: string | undefined;
  readonly position: Position;
}

/** Where a skipAfter may go on. */
export interface Marker {
  readonly type: 'marker';
  readonly name: string;
}

export type Item = Rule | Marker;
