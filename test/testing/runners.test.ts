import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const ROOT = new URL('../..', import.meta.url);

interface Outcome {
  readonly code: number;
  readonly passed: number;
  readonly failed: number;
}

/** Runs a program that uses node:test, from the package's own directory so that it can import the package. */
async function nodeTest(program: string): Promise<Outcome> {
  const args = ['--test-reporter=tap', '--input-type=module', '--eval', program];
  const { code, stdout } = await run(process.execPath, args, { cwd: ROOT, maxBuffer: 2 ** 26 }).then(
    (output) => ({ code: 0, stdout: output.stdout }),
    (error: { code: number; stdout: string }) => error,
  );
  const figure = (name: string) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(stdout)?.[1]);
  return { code, passed: figure('pass'), failed: figure('fail') };
}

/** The programs of docs/backends.md, by the file name in their first line. */
function documented(): Map<string, string> {
  const text = readFileSync(new URL('docs/backends.md', ROOT), 'utf8');
  const blocks = text.matchAll(/^```js\n\/\/ (\S+)\n([\s\S]*?)^```$/gm);
  return new Map([...blocks].map(([, file, program]) => [String(file), String(program)]));
}

describe('under node:test', () => {
  it.each([...documented()])('%s of docs/backends.md passes', async (_, program) => {
    const outcome = await nodeTest(program);
    expect(outcome).toMatchObject({ code: 0, failed: 0 });
    expect(outcome.passed).toBeGreaterThan(150);
  });

  it('both programs of docs/backends.md are found', () => {
    expect([...documented().keys()]).toEqual(['engine.test.js', 'counting.test.js']);
  });

  it('an engine with a fault fails', async () => {
    const program = documented().get('counting.test.js') ?? '';
    const faulty = program.replace('close: () => inner.close()', 'close: async () => {}');
    expect(faulty).not.toBe(program);
    const outcome = await nodeTest(faulty);
    expect(outcome.code).not.toBe(0);
    expect(outcome.failed).toBeGreaterThan(0);
  });
});
