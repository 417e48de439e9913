import type { Backend } from '../contract/backend.js';
import { clientKey } from '../guard/client-key.js';
import type { LogEntry } from './access-log.js';
import { Interruptible } from './interruptible.js';
import { Judge, type LimitRule, type Verdict } from './judge.js';
import { refuseOlderLog, saveLogClock } from './log-clock.js';
import type { ReplayReport } from './replay-report.js';
import { Progress } from './terminal.js';

export interface JudgeLogOptions {
  readonly rule: LimitRule;
  /** The log clock of earlier runs. */
  readonly saved: bigint | undefined;
  readonly ipv6Prefix: number;
}

type Block = ReplayReport['blocked'][number];
export type Tally = Pick<
  ReplayReport,
  'lines' | 'malformed' | 'transactions' | 'blocked' | 'stillBlocked' | 'talkers' | 'clock' | 'interrupted'
>;

/** Lines under way at once: enough to fill a group commit, few enough to bound memory. */
const IN_FLIGHT = 2048;
/** The log clock is saved this often, in lines, so that a killed run leaves one that is nearly right. */
const CLOCK_INTERVAL = 10_000;

/**
 * Judges every entry (undefined = a malformed line) and saves the log clock. An interrupt (SIGINT) ends it early
 * with what was judged until then; the first failed transaction, and a log that breaks off, end it with their error.
 */
export async function judgeLog(
  backend: Backend,
  source: AsyncIterable<LogEntry | undefined>,
  { rule, saved, ipv6Prefix }: JudgeLogOptions,
): Promise<Tally> {
  const progress = new Progress();
  const verdicts = new Verdicts();
  const talkers = new Map<string, number>();
  let [lines, malformed] = [0, 0];
  let clock = saved;
  let judge: Judge | undefined;
  const interruptible = new Interruptible(source);

  try {
    for await (const entry of interruptible) {
      lines++;
      if (entry === undefined) {
        malformed++;
        continue;
      }
      if (judge === undefined) {
        if (saved !== undefined) refuseOlderLog(entry.time, saved);
        judge = new Judge(backend, rule, clock ?? entry.time);
      }
      // Before the first line counts: state without a clock would be nobody's.
      if (clock === undefined) await saveLogClock(backend, entry.time);
      if (clock === undefined || entry.time > clock) clock = entry.time;
      const address = clientKey(entry.address, ipv6Prefix);
      talkers.set(address, (talkers.get(address) ?? 0) + 1);
      await verdicts.add(lines, address, judge.judge(address, clock));
      if (lines % CLOCK_INTERVAL === 0) await saveLogClock(backend, clock);
      progress.update(() => `${lines.toLocaleString('en')} lines, ${verdicts.blocks} blocks`);
    }
  } finally {
    interruptible.end();
    progress.end();
    // Also where the log broke off: the lines before that have counted.
    await verdicts.settled();
    if (clock !== undefined && clock !== saved) await saveLogClock(backend, clock);
  }
  const { interrupted } = interruptible;
  return { lines, malformed, talkers, clock, interrupted, ...verdicts.summary() };
}

/** Collects verdicts as they come, and holds the reader back while too many are awaited. */
class Verdicts {
  readonly #blocked: { line: number; block: Block }[] = [];
  readonly #blockedHere = new Set<string>();
  readonly #stillBlocked = new Set<string>();
  #pending = 0;
  #transactions = 0;
  #failure: { error: unknown } | undefined;
  #wake: (() => void) | undefined;

  get blocks(): number {
    return this.#blocked.length;
  }

  /** Resolves when there is room for another; rejects once a transaction has failed. */
  async add(line: number, address: string, verdict: Promise<Verdict>): Promise<void> {
    this.#pending++;
    verdict.then(
      (value) => {
        this.#transactions++;
        this.#note(line, address, value);
        this.#release();
      },
      (error: unknown) => {
        this.#failure ??= { error };
        this.#release();
      },
    );
    await this.#below(IN_FLIGHT);
  }

  settled(): Promise<void> {
    return this.#below(1);
  }

  /** In the order of the lines, which is not the order in which transactions end. */
  summary(): Pick<Tally, 'transactions' | 'blocked' | 'stillBlocked'> {
    this.#blocked.sort((a, b) => a.line - b.line);
    return {
      transactions: this.#transactions,
      blocked: this.#blocked.map(({ block }) => block),
      stillBlocked: this.#stillBlocked.size,
    };
  }

  #note(line: number, address: string, verdict: Verdict): void {
    if (verdict.type === 'blocked') {
      this.#blocked.push({
        line,
        block: { address, requests: verdict.requests, at: verdict.at, until: verdict.until },
      });
      this.#blockedHere.add(address);
    } else if (verdict.type === 'refused' && !this.#blockedHere.has(address)) {
      this.#stillBlocked.add(address);
    }
  }

  #release(): void {
    this.#pending--;
    this.#wake?.();
  }

  async #below(limit: number): Promise<void> {
    while (this.#pending >= limit && this.#failure === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
