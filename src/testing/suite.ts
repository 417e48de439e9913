import type { Backend, Expectation } from '../contract/backend.js';
import type { Feature } from '../contract/features.js';
import type { Runner, Subject } from './runner.js';
import { Session } from './session.js';

/** Lists rules with the runner, each of which gets an engine of its own. */
export class Suite {
  readonly subject: Subject;
  readonly #runner: Runner;
  readonly #features: ReadonlySet<Feature>;

  constructor(runner: Runner, subject: Subject) {
    this.#runner = runner;
    this.subject = subject;
    this.#features = new Set(subject.features);
  }

  /** Whether the engine is declared to have the feature. */
  has(feature: Feature): boolean {
    return this.#features.has(feature);
  }

  /** An expectation that the engine knows and that an absent record meets. */
  get forAbsent(): Expectation {
    return this.has('server_side_rebase') ? 'any' : 'absent';
  }

  area(name: string, body: () => void): void {
    this.#runner.describe(name, body);
  }

  /** One test, named after the rule that it checks. */
  rule(name: string, body: (session: Session) => Promise<void>): void {
    this.#runner.it(name, () => this.play(body));
  }

  /** One engine from open to close. A failure of the body is what the test reports, even where closing fails too. */
  async play(body: (session: Session) => Promise<void>): Promise<void> {
    const backend = await this.subject.open();
    let failed = true;
    try {
      await body(new Session(backend));
      failed = false;
    } finally {
      await closeAfter(backend, failed);
    }
  }
}

async function closeAfter(backend: Backend, failed: boolean): Promise<void> {
  try {
    await backend.close();
  } catch (error) {
    if (!failed) throw error;
  }
}
