import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * Runs every example of docs/collections.md against the built package, and compares what stands before `// =>` with what
 * stands behind it. The first example is whole; those after the second begin with the second.
 */
const page = readFileSync(new URL('../../docs/collections.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1] as string);
const [whole, start, ...parts] = blocks as [string, string, ...string[]];
const examples = [whole, ...parts.map((part) => start + part)];

// Below the package's own directory, so that `wafstate` is the package itself.
const build = fileURLToPath(new URL('../../build', import.meta.url));
const home = process.cwd();
let modules: string;
let state: string;

beforeAll(() => {
  mkdirSync(build, { recursive: true });
  modules = mkdtempSync(join(build, 'docs-'));
  state = mkdtempSync(join(tmpdir(), 'wafstate-docs-'));
  process.chdir(state);
});

afterAll(() => {
  process.chdir(home);
  rmSync(modules, { recursive: true });
  rmSync(state, { recursive: true });
});

describe('the examples of docs/collections.md', () => {
  test('are there', () => {
    expect(examples.length).toBeGreaterThanOrEqual(7);
    expect(examples.join('').match(/\/\/ =>/g)?.length).toBeGreaterThanOrEqual(18);
  });

  test.each(examples.map((source, index) => ({ source, number: index + 1 })))(
    'example $number',
    async ({ source, number }) => {
      const checks: [actual: unknown, expected: unknown][] = [];
      Object.assign(globalThis, { check: (...pair: [unknown, unknown]) => checks.push(pair) });
      const checked = source.replace(/^(.*); \/\/ => (.*)$/gm, 'check($1, $2);');
      const { outputText } = ts.transpileModule(checked, {
        compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
      });
      const file = join(modules, `${number}.mjs`);
      writeFileSync(file, outputText);
      await import(/* @vite-ignore */ pathToFileURL(file).href);
      expect(checks.length).toBeGreaterThan(0);
      for (const [actual, expected] of checks) expect(actual).toEqual(expected);
    },
  );
});
