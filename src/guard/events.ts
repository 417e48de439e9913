import type { Cause } from '../seclang/explanation.js';
import type { Phase } from '../seclang/rule.js';

/**
 * What a guard tells its log. Nothing in it was chosen by the client but its address and method: no path, header, cookie or argument, and no
 * text that a rule made of one. `requestId` is UNIQUE_ID, for whoever logs that beside the rest.
 */
export type GuardEvent = MatchEvent | DecisionEvent | RefusalEvent | FailureEvent;

interface RequestEvent {
  readonly requestId: string;
  /** IPv6: by prefix. */
  readonly client: string;
  readonly method: string;
}

export interface ExplainedRule {
  readonly id: number | undefined;
  readonly phase: Phase;
  readonly file: string;
  readonly line: number;
  readonly severity: string | undefined;
  readonly message: string | undefined;
  readonly tags: readonly string[];
  readonly causes: readonly Cause[];
}

/** A rule that logs has matched. */
export interface MatchEvent extends RequestEvent {
  readonly type: 'match';
  readonly rule: ExplainedRule;
}

/** A rule has ended the request. */
export interface DecisionEvent extends RequestEvent {
  readonly type: 'decision';
  readonly action: 'deny' | 'drop' | 'redirect';
  /** 0 for drop. */
  readonly status: number;
  readonly rule: ExplainedRule;
}

/** The guard itself has ended the request: its form could not be read. */
export interface RefusalEvent extends RequestEvent {
  readonly type: 'refusal';
  readonly reason: 'body_too_large' | 'body_timeout' | 'body_encoded';
  readonly status: number;
}

/** The engine failed, or the guard did. */
export interface FailureEvent extends RequestEvent {
  readonly type: 'failure';
  /** `evaluation`: no rule after it ran. `flush`: what the request changed is not stored, or not all of it. */
  readonly stage: 'evaluation' | 'flush';
  /** Of the WafStateError; `internal` for any other, whose message may hold anything and is left out. */
  readonly code: string;
  readonly message: string;
  /** What the client got for it: undefined where it got the application's answer. */
  readonly status: number | undefined;
}
