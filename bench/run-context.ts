import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Contender, contend, type LoadSetting, limitContender, summarize } from './contender.js';
import type { LimitRequest } from './limit/program.js';
import type { Sample } from './load/closed-loop.js';
import type { Result, Skipped } from './report.js';
import type { Scale } from './scale.js';
import type { Durability, OpenOptions, Subject } from './subject.js';
import { SubjectProcess } from './subject-process.js';

/** What a case has to work with. It never throws for a subject that cannot run: that is noted, and the case goes on. */
export class RunContext {
  readonly scale: Scale;
  readonly skipped: Skipped[] = [];
  readonly #directory: string;
  readonly #limit: string | undefined;
  readonly #progress: (text: string) => void;
  #directories = 0;
  #caseTitle = '';

  /** `limit`: the built C program, or `undefined` where there is none, which the caller has noted. */
  constructor(options: {
    readonly scale: Scale;
    readonly directory: string;
    readonly limit: string | undefined;
    readonly progress: (text: string) => void;
  }) {
    this.scale = options.scale;
    this.#directory = options.directory;
    this.#limit = options.limit;
    this.#progress = options.progress;
  }

  begin(caseTitle: string): void {
    this.#caseTitle = caseTitle;
    this.say('starting');
  }

  say(text: string): void {
    this.#progress(`${this.#caseTitle}: ${text}`);
  }

  skip(what: string, reason: string): void {
    if (!this.skipped.some((each) => each.what === what && each.reason === reason)) {
      this.skipped.push({ what, reason });
    }
  }

  /** An empty directory of its own. */
  directory(): string {
    this.#directories++;
    const path = join(this.#directory, String(this.#directories));
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** The subject in a process, or `undefined` where it cannot run here. */
  async start(subject: Subject, options: Partial<OpenOptions> = {}): Promise<SubjectProcess | undefined> {
    const reason = subject.missing();
    if (reason !== undefined) {
      this.skip(subject.title, reason);
      return undefined;
    }
    return SubjectProcess.start(subject, {
      directory: options.directory ?? this.directory(),
      durability: options.durability ?? 'durable',
    });
  }

  /** The subject's contenders, none where it cannot run here. */
  async contend(
    subject: Subject,
    durability: Durability,
    settings: readonly LoadSetting[],
  ): Promise<Contender[]> {
    const reason = subject.missing();
    if (reason !== undefined) {
      this.skip(subject.title, reason);
      return [];
    }
    this.say(`${subject.title}, filling`);
    return contend(subject, { directory: this.directory(), durability }, settings);
  }

  limit(request: Omit<LimitRequest, 'milliseconds' | 'directory'>, setting: string): Contender[] {
    if (this.#limit === undefined) return [];
    return [limitContender(this.#limit, { ...request, directory: this.directory() }, setting)];
  }

  /**
   * Rounds of all contenders in turn (A B A B), so that what else the machine does falls on all alike; first one each that is not
   * counted. Closes them.
   */
  async compare(contenders: readonly Contender[]): Promise<Result[]> {
    const { rounds, roundMs, warmupMs } = this.scale;
    const samples = new Map<Contender, Sample[]>(contenders.map((each) => [each, []]));
    try {
      for (let round = 0; round <= rounds; round++) {
        for (const contender of contenders) {
          this.say(`${contender.title}, ${contender.setting}, round ${round} of ${rounds}`);
          const sample = await contender.round(round === 0 ? warmupMs : roundMs);
          if (round > 0) samples.get(contender)?.push(sample);
        }
      }
    } finally {
      for (const contender of contenders) await contender.close();
    }
    return contenders.map((each) => summarize(each, samples.get(each) ?? []));
  }
}
