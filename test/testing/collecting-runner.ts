import type { Runner } from 'wafstate/testing';

export interface ListedTest {
  /** The headings above it, the engine's first. */
  readonly headings: readonly string[];
  readonly name: string;
  readonly body: () => Promise<void>;
}

export interface Failure {
  readonly test: ListedTest;
  readonly error: unknown;
}

/** Runs the callback with a runner that only notes down what it is given. */
export function collect(list: (runner: Runner) => void): ListedTest[] {
  const headings: string[] = [];
  const tests: ListedTest[] = [];
  list({
    describe(name, body) {
      headings.push(name);
      body();
      headings.pop();
    },
    it(name, body) {
      tests.push({ headings: [...headings], name, body });
    },
  });
  return tests;
}

/** Runs tests one after the other. */
export async function failuresOf(tests: readonly ListedTest[]): Promise<Failure[]> {
  const failures: Failure[] = [];
  for (const test of tests) {
    try {
      await test.body();
    } catch (error) {
      failures.push({ test, error });
    }
  }
  return failures;
}
