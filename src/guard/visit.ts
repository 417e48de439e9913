import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Transaction } from '../collections/index.js';
import { WafStateError } from '../contract/errors.js';
import type { Decision, Evaluation, RuleMatch } from '../seclang/evaluation.js';
import type { ResponseFacts } from '../seclang/request.js';
import type { Phase } from '../seclang/rule.js';
import { type Answer, unavailable } from './answer.js';
import { clientAddress } from './client-key.js';
import type { Tally } from './counters.js';
import type { ExplainedRule, FailureEvent, GuardEvent, RefusalEvent } from './events.js';
import type { GuardSettings } from './options.js';

/** What the visits of one guard share. */
export interface Desk {
  readonly settings: GuardSettings;
  readonly tally: Tally;
  /** Visits that have not ended. */
  open: number;
  /** Told when `open` has come down to 0. */
  readonly idle: (() => void)[];
}

const TALLIED = { deny: 'denied', drop: 'dropped', redirect: 'redirected' } as const satisfies Record<
  Decision['type'],
  keyof Tally
>;

/**
 * One request at its guard: a transaction, the five phases over it, and their end. Each step returns the answer that the client is
 * to get instead of the application's, if there is one. Nothing in here throws or rejects: what fails is counted, logged and
 * answered.
 */
export class Visit {
  readonly #desk: Desk;
  readonly #transaction: Transaction;
  readonly #evaluation: Evaluation;
  readonly #requestId = randomUUID();
  readonly #client: string;
  readonly #method: string;
  #reported = 0;
  #failed = false;
  #ended: Promise<Answer | undefined> | undefined;

  /** `uri`: as the client sent it; a framework may have changed that of the request. */
  constructor(desk: Desk, request: IncomingMessage, uri: string) {
    const { collections, rules, trustedProxies, ipv6Prefix } = desk.settings;
    const { socket, rawHeaders } = request;
    this.#desk = desk;
    this.#client = clientAddress(trustedProxies.clientOf(request), ipv6Prefix);
    this.#method = request.method ?? '';
    this.#transaction = collections.begin();
    desk.open++;
    desk.tally.requests++;
    const headers: [string, string][] = [];
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
      headers.push([rawHeaders[at] as string, rawHeaders[at + 1] as string]);
    }
    this.#evaluation = rules.begin(this.#transaction, {
      clientAddress: this.#client,
      clientPort: socket.remotePort,
      serverAddress: socket.localAddress,
      serverPort: socket.localPort,
      method: this.#method,
      uri,
      httpVersion: request.httpVersion,
      headers,
      uniqueId: this.#requestId,
    });
  }

  judgeHead(): Answer | undefined {
    return this.#run(1);
  }

  /** `undefined`: no body that rules read. */
  judgeBody(bytes: Uint8Array | undefined): Answer | undefined {
    if (bytes !== undefined) this.#evaluation.setBody(bytes);
    return this.#run(2);
  }

  judgeResponse(response: ResponseFacts): Answer | undefined {
    this.#evaluation.setResponse(response);
    return this.#run(3) ?? this.#run(4);
  }

  /** What rules of phase 5 are to see of an answer that is not the application's. */
  answered({ status }: Answer): void {
    this.#evaluation.setResponse({ status, headers: [] });
  }

  /** The guard itself refuses the request, since its form cannot be read. */
  refuse(reason: RefusalEvent['reason'], status: number): Answer {
    this.#desk.tally.refusedBodies++;
    this.#log({ type: 'refusal', reason, status });
    return { status };
  }

  aborted(): void {
    this.#desk.tally.aborted++;
  }

  /** What the guard cannot go on after, found outside of the rules. */
  fail(error: unknown): Answer {
    return this.#fail(error, 'evaluation', true);
  }

  /**
   * Phase 5, the flush and the close, once however often it is called. Resolves to an answer where the state could not be stored and the
   * failure policy does not let that pass.
   */
  end(): Promise<Answer | undefined> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<Answer | undefined> {
    try {
      if (this.#failed) return undefined;
      const answer = this.#run(5);
      // A rule that decided has its answer; after phase 5 an answer can only be a failure's.
      if (this.#failed) return answer;
      return await this.#flush();
    } finally {
      this.#transaction.close();
      const { idle } = this.#desk;
      this.#desk.open--;
      if (this.#desk.open === 0) for (const tell of idle.splice(0)) tell();
    }
  }

  async #flush(): Promise<Answer | undefined> {
    try {
      await this.#transaction.processLogging();
    } catch (error) {
      return this.#fail(error, 'flush', this.#desk.settings.flushesBefore);
    }
    // One that the policy let pass, of a load or of the flush.
    const failure = this.#transaction.lastPersistentFailure();
    if (failure !== undefined) {
      this.#desk.tally.flushFailures++;
      this.#logFailure(failure, 'flush', undefined);
    }
    return undefined;
  }

  #run(phase: Phase): Answer | undefined {
    if (this.#failed) return undefined;
    const before = this.#evaluation.decision;
    try {
      const decision = this.#evaluation.run(phase);
      const { matches } = this.#evaluation;
      if (decision === undefined || before !== undefined) {
        this.#report(matches.length);
        return undefined;
      }
      // A decision ends its phase, so the rule that took it is the last that matched.
      this.#report(matches.length - 1);
      this.#reported = matches.length;
      return this.#decide(decision, matches.at(-1) as RuleMatch);
    } catch (error) {
      this.#report(this.#evaluation.matches.length);
      return this.#fail(error, 'evaluation', true);
    }
  }

  #decide({ type, status, location }: Decision, match: RuleMatch): Answer {
    this.#desk.tally[TALLIED[type]]++;
    this.#log({ type: 'decision', action: type, status, rule: explained(match) });
    return { status, location };
  }

  #report(end: number): void {
    const { matches } = this.#evaluation;
    for (; this.#reported < end; this.#reported++) {
      const match = matches[this.#reported] as RuleMatch;
      if (match.log) this.#log({ type: 'match', rule: explained(match) });
    }
  }

  /** `answers`: whether the client can still be told. */
  #fail(error: unknown, stage: FailureEvent['stage'], answers: boolean): Answer {
    this.#failed = true;
    const { tally } = this.#desk;
    tally[stage === 'flush' ? 'flushFailures' : 'evaluationFailures']++;
    const answer =
      error instanceof WafStateError && error.kind !== 'invalid' ? unavailable(error) : { status: 500 };
    if (answers) tally.unavailable++;
    this.#logFailure(error, stage, answers ? answer.status : undefined);
    return answer;
  }

  #logFailure(error: unknown, stage: FailureEvent['stage'], status: number | undefined): void {
    // The message of another error may quote what a client sent; where it was thrown may not.
    const [code, message] =
      error instanceof WafStateError
        ? [error.code, error.message]
        : ['internal', error instanceof Error ? placeOf(error) : typeof error];
    this.#log({ type: 'failure', stage, code, message, status });
  }

  #log(event: WithoutRequest<GuardEvent>): void {
    const { log } = this.#desk.settings;
    if (log === undefined) return;
    const whole = {
      requestId: this.#requestId,
      client: this.#client,
      method: this.#method,
      ...event,
    } as GuardEvent;
    queueMicrotask(() => log(whole));
  }
}

type WithoutRequest<Event> = Event extends GuardEvent
  ? Omit<Event, 'requestId' | 'client' | 'method'>
  : never;

function explained({ id, phase, file, line, severity, explanation }: RuleMatch): ExplainedRule {
  return {
    id,
    phase,
    file,
    line,
    severity,
    message: explanation?.message,
    tags: explanation?.tags ?? [],
    causes: explanation?.causes ?? [],
  };
}

function placeOf({ name, stack = '' }: Error): string {
  return `${name}${/\n\s+at [^\n]*/.exec(stack)?.[0].replace(/\n\s+/, ' ') ?? ''}`;
}
