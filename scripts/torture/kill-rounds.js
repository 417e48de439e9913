// Rounds of kill -9: two processes of two writing threads each, one of which is killed at a step of the write path or at a
// random moment, in some rounds both at once; then the environment is opened again and held against the journals.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openLmdb } from 'wafstate';
import { EMPTY_BASE } from './ledger.js';
import { preloadLibrary } from './preload.js';
import { reopen } from './reopen.js';
import { inTime, WriterProcess } from './writer-process.js';

const THREADS = 2;
const LANES = 8;

/** Steps that the preloaded library knows, see step-killer.c. */
const SYSTEM_STEPS = [
  'before-gate',
  'in-gate',
  'in-transaction',
  'before-pages',
  'between-pages',
  'before-sync',
  'before-meta',
  'after-meta',
  'committed',
  'gate-left',
];
const SCRIPT_STEPS = { 'commit-sent': 'sent', 'reply-delivered': 'acknowledged' };

/** Every step, each as often as random moments are. */
export function stepsOf() {
  return [
    'random',
    ...(preloadLibrary('step-killer') === undefined ? [] : SYSTEM_STEPS),
    ...Object.keys(SCRIPT_STEPS),
  ];
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The rounds over one environment, which lives through all of them. */
export class KillRounds {
  #open;
  #journals;
  #random;
  #steps = stepsOf();
  #base = EMPTY_BASE;
  #survivor;
  #next;
  totals = {
    rounds: 0,
    kills: {},
    acknowledged: 0,
    inDoubt: 0,
    inDoubtApplied: 0,
    declaredLost: 0,
    faults: [],
  };

  constructor({ directory, open, random }) {
    this.#journals = join(directory, 'journals');
    mkdirSync(this.#journals);
    this.#open = open;
    this.#random = random;
  }

  async start() {
    await (await openLmdb(this.#open)).close();
    this.#survivor = this.#process({});
    this.#next = this.#victim();
  }

  async round() {
    const round = ++this.totals.rounds;
    const victim = this.#next;
    const both = this.#random.chance(0.25);
    this.#survivor ??= this.#process({});
    for (const one of [this.#survivor, victim.process]) await one.says('ready');
    this.#survivor.send({ type: 'write', names: names(`${round}s`) });
    victim.process.send({ type: 'write', names: names(`${round}v`), killAt: victim.killAt });
    if (victim.step === 'random') {
      if (this.#random.chance(0.8)) await victim.process.says('open');
      await pause(this.#random.integer(0, 200));
      victim.process.kill();
    }
    const exit = await inTime(victim.process.ended, `the victim of step ${victim.step} was not killed`);
    if (exit !== 'SIGKILL') this.#fault(`the victim of step ${victim.step} ended with ${exit}`);
    this.#next = this.#victim();
    if (both) {
      this.#survivor.kill();
      await this.#survivor.ended;
      this.#survivor = undefined;
    } else {
      await this.#survivor.says('open');
      this.#survivor.send('pause');
      if (!(await this.#survivor.says('paused'))) {
        // The limit that docs/reliability.md names: TypeScript cannot wake itself.
        if (this.#survivor.said('lost') && this.#open.implementation === 'typescript')
          this.totals.declaredLost++;
        else this.#fault(`the process that was left ended with ${this.#survivor.exit}`);
        this.#survivor = undefined;
      }
    }
    const kind = both ? `${victim.step} and the other at once` : victim.step;
    this.totals.kills[kind] = (this.totals.kills[kind] ?? 0) + 1;
    await this.#check(kind);
  }

  stop() {
    this.#survivor?.kill();
    this.#next?.process.kill();
  }

  #process(environment) {
    return new WriterProcess({ open: this.#open, journals: this.#journals, lanes: LANES }, environment);
  }

  /** Started ahead, so that its start does not count. */
  #victim() {
    const step = this.#steps[this.#random.integer(0, this.#steps.length - 1)];
    if (!SYSTEM_STEPS.includes(step)) {
      const nth = this.#random.integer(1, 400);
      const killAt = step === 'random' ? undefined : { step: SCRIPT_STEPS[step], nth };
      return { step, killAt, process: this.#process({}) };
    }
    const environment = {
      LD_PRELOAD: preloadLibrary('step-killer'),
      WAFSTATE_TORTURE_DIRECTORY: this.#open.path,
      WAFSTATE_TORTURE_STEP: step,
      WAFSTATE_TORTURE_NTH: String(this.#random.integer(1, 40)),
    };
    return { step, process: this.#process(environment) };
  }

  async #check(kind) {
    const result = await reopen(this.#open, this.#journals, this.#base);
    for (const fault of result.faults) this.#fault(`${kind}: ${fault}`);
    this.#base = result.base;
    this.totals.acknowledged += result.acknowledged;
    this.totals.inDoubt += result.inDoubt;
    this.totals.inDoubtApplied += result.inDoubtApplied.length;
  }

  #fault(text) {
    this.totals.faults.push(`round ${this.totals.rounds}: ${text}`);
  }
}

function names(prefix) {
  return Array.from({ length: THREADS }, (_, thread) => `${prefix}${thread}`);
}
