import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** The TypeScript blocks of a page in docs/. */
export function blocksOf(page: string): string[] {
  const text = readFileSync(new URL(`../docs/${page}`, import.meta.url), 'utf8');
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1] as string);
}

// Below the package's own directory, so that `wafstate` is the package itself.
const build = fileURLToPath(new URL('../build', import.meta.url));

/**
 * Declares a test for each example, which runs it against the built package, in a directory of its own, and compares what stands
 * before `// =>` with what stands behind it.
 */
export function testExamples(examples: readonly string[]): void {
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
}
