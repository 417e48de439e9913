import { Collections } from '../collections/collections.js';
import type { Backend } from '../contract/backend.js';
import { clientAddress } from '../guard/client-key.js';
import type { Decision, RuleMatch, RuleSet } from '../seclang/index.js';
import type { LoggedRequest } from './access-log.js';
import { Interruptible } from './interruptible.js';
import { REPLAY_APPLICATION } from './judge.js';
import { refuseOlderLog, saveLogClock } from './log-clock.js';
import { Progress } from './terminal.js';

/** One rule over a whole log. Times in nanoseconds since the epoch. */
export interface RuleTally {
  readonly id: number | undefined;
  readonly file: string;
  readonly line: number;
  readonly message: string | undefined;
  /** Requests that it matched, and those that it refused. */
  matched: number;
  refused: number;
  readonly first: bigint;
  last: bigint;
}

export interface RefusedClient {
  readonly address: string;
  requests: number;
  readonly first: bigint;
  last: bigint;
}

export interface RulesTally {
  readonly lines: number;
  readonly malformed: number;
  readonly transactions: number;
  readonly interrupted: boolean;
  readonly rules: readonly RuleTally[];
  readonly refused: readonly RefusedClient[];
}

/** Lines that one wait for the engine is shared by: it commits them together. */
const BATCH = 512;

/**
 * Judges every request of a log by rules, at the log's own time: the newest seen so far. Requests of one client are judged one after the
 * other, those of different clients side by side, as a server would. SIGINT ends it early.
 */
export async function judgeByRules(
  backend: Backend,
  source: AsyncIterable<LoggedRequest | undefined>,
  options: { readonly rules: RuleSet; readonly saved: bigint | undefined; readonly ipv6Prefix: number },
): Promise<RulesTally> {
  const { rules, saved, ipv6Prefix } = options;
  const log = new RuleLog();
  const progress = new Progress();
  const interruptible = new Interruptible(source);
  let busy = new Map<string, Promise<void>>();
  let [lines, malformed] = [0, 0];
  let clock = saved;

  const judge = async (address: string, request: LoggedRequest, now: bigint): Promise<void> => {
    const collections = new Collections({
      backend,
      ...rules.collectionOptions,
      // What marks a directory as a replay's; SecWebAppId is for live traffic.
      applicationId: REPLAY_APPLICATION,
      clock: { now: () => now },
    });
    using tx = collections.begin();
    const { method, uri, httpVersion, headers } = request;
    const evaluation = rules.begin(tx, { clientAddress: address, method, uri, httpVersion, headers });
    evaluation.run(1);
    const early = evaluation.run(2);
    evaluation.setResponse({ status: early?.status ?? request.status, headers: [] });
    evaluation.run(3);
    evaluation.run(4);
    evaluation.run(5);
    log.note(address, now, evaluation.matches, evaluation.decision);
    await tx.processLogging();
  };

  const settle = async (): Promise<void> => {
    await Promise.all(busy.values());
    busy = new Map();
    if (clock !== undefined) await saveLogClock(backend, clock);
  };

  try {
    for await (const request of interruptible) {
      lines++;
      if (request === undefined) {
        malformed++;
        continue;
      }
      if (lines - malformed === 1 && saved !== undefined) refuseOlderLog(request.time, saved);
      // Before the first line counts: state without a clock would be nobody's.
      if (clock === undefined) await saveLogClock(backend, request.time);
      const now: bigint = clock === undefined || request.time > clock ? request.time : clock;
      clock = now;
      const address = clientAddress(request.address, ipv6Prefix);
      const before = busy.get(address);
      const judged =
        before === undefined ? judge(address, request, now) : before.then(() => judge(address, request, now));
      // Its failure is heard when the batch settles, and until then is nobody's unhandled rejection.
      judged.catch(() => undefined);
      busy.set(address, judged);
      if ((lines - malformed) % BATCH === 0) await settle();
      progress.update(() => `${lines.toLocaleString('en')} lines`);
    }
    await settle();
  } finally {
    interruptible.end();
    progress.end();
  }
  const { interrupted } = interruptible;
  return { lines, malformed, transactions: lines - malformed, interrupted, ...log.summary() };
}

/** Counts by rule and by client. */
class RuleLog {
  readonly #rules = new Map<string, RuleTally>();
  readonly #clients = new Map<string, RefusedClient>();

  note(address: string, now: bigint, matches: readonly RuleMatch[], decision: Decision | undefined): void {
    for (const match of matches) {
      if (!match.log && match.id !== decision?.ruleId) continue;
      const { id, file, line, explanation } = match;
      const place = `${file}:${line}`;
      const tally = this.#rules.get(place) ?? {
        ...{ id, file, line, message: explanation?.message },
        ...{ matched: 0, refused: 0, first: now, last: now },
      };
      this.#rules.set(place, tally);
      tally.matched++;
      if (decision !== undefined && decision.ruleId === id) tally.refused++;
      tally.last = now;
    }
    if (decision === undefined) return;
    const client = this.#clients.get(address) ?? { address, requests: 0, first: now, last: now };
    this.#clients.set(address, client);
    client.requests++;
    client.last = now;
  }

  /** Rules in the order of their files, clients by when they were first refused. */
  summary(): Pick<RulesTally, 'rules' | 'refused'> {
    return {
      rules: [...this.#rules.values()].sort((a, b) =>
        a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1,
      ),
      refused: [...this.#clients.values()].sort((a, b) =>
        a.first === b.first ? (a.address < b.address ? -1 : 1) : a.first < b.first ? -1 : 1,
      ),
    };
  }
}
