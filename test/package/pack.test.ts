import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

// What a user gets: the packed tarball, installed into an empty project. It is packed in a copy of the
// sources, since packing rebuilds dist/, which other tests are using meanwhile.

const root = resolve(import.meta.dirname, '../..');
// Without a compiler nothing was built here, and the package is made as WAFSTATE_NATIVE=0 makes it.
const native =
  process.env['WAFSTATE_NATIVE'] !== '0' && existsSync(join(root, 'build', 'Release', 'wafstate.node'));
const work = mkdtempSync(join(tmpdir(), 'wafstate-pack-'));
const app = join(work, 'app');
const installed = join(app, 'node_modules', 'wafstate');

function run(command: string, args: string[], cwd: string, environment: Record<string, string> = {}) {
  const result = spawnSync(command, args, { cwd, encoding: 'utf8', env: { ...process.env, ...environment } });
  if (result.error) throw result.error;
  return result;
}

function succeed(
  command: string,
  args: string[],
  cwd: string,
  environment: Record<string, string> = {},
): string {
  const { status, stdout, stderr } = run(command, args, cwd, environment);
  expect(status, `${command} ${args.join(' ')}\n${stdout}${stderr}`).toBe(0);
  return stdout;
}

/** The first TypeScript example of the README that imports the package. */
function readmeExample(): string {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const example = [...readme.matchAll(/^```(?:ts|js)\n(.*?)^```$/gms)]
    .map((match) => match[1] ?? '')
    .find((code) => code.includes("from 'wafstate'"));
  if (example === undefined) throw new Error("README.md has no ts example that imports from 'wafstate'");
  return example;
}

/** The same example as a CommonJS program. */
function asCommonJs(example: string): string {
  const body = example.replaceAll(/^import (\{[^}]*\}) from '([^']+)';$/gm, "const $1 = require('$2');");
  expect(body).not.toMatch(/^import /m);
  return `async function main() {\n${body}\n}\nmain().catch((error) => {\n  console.error(error);\n  process.exit(1);\n});\n`;
}

// The example counts one failure a run, in ./state. Whoever runs it n times must find n.
const readFailures = `
import { Collections, openLmdb } from 'wafstate';
const backend = await openLmdb({ path: './state', create: false });
const tx = new Collections({ backend, failurePolicy: 'fail_closed' }).begin();
await tx.bind('ip', '203.0.113.9');
console.log(tx.get('ip', 'failures'));
tx.close();
await backend.close();
`;

beforeAll(() => {
  const copy = join(work, 'source');
  const files = succeed('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], root);
  for (const file of files.split('\0').filter((name) => name !== '' && existsSync(join(root, name)))) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(root, file), join(copy, file));
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  succeed('npm', ['pack', '--pack-destination', work], copy, native ? {} : { WAFSTATE_NATIVE: '0' });
  const tarball = readdirSync(work).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm pack made no tarball');

  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{ "name": "app", "version": "1.0.0", "private": true }\n');
  succeed('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', join(work, tarball)], app);
  writeFileSync(join(app, 'example.mjs'), readmeExample());
  writeFileSync(join(app, 'example.cjs'), asCommonJs(readmeExample()));
  writeFileSync(join(app, 'failures.mjs'), readFailures);
}, 600_000);

afterAll(() => rmSync(work, { recursive: true }));

describe('the installed package', () => {
  test('has no install script and no binding.gyp at its root', () => {
    const lock = JSON.parse(readFileSync(join(app, 'package-lock.json'), 'utf8'));
    const entry = lock.packages['node_modules/wafstate'];
    expect(entry).toMatchObject({ version: expect.any(String), license: 'MIT' });
    expect(entry).not.toHaveProperty('hasInstallScript');
    expect(existsSync(join(installed, 'binding.gyp'))).toBe(false);
    const { scripts } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    expect(Object.keys(scripts)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/install$|^prepare$/)]),
    );
  });

  test('holds what is used at run time, the notices, and nothing else', () => {
    const expected = [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'THIRD_PARTY_LICENSES.md',
      'dist',
      'docs',
      'package.json',
    ];
    if (native) expected.push('prebuilds');
    expect(readdirSync(installed).sort()).toEqual(expected.sort());
    expect(existsSync(join(installed, 'dist', 'backend', 'lmdb', 'writer.js'))).toBe(true);
  });

  test('carries the addon of this platform, if one could be built', () => {
    const prebuilds = join(installed, 'prebuilds');
    expect(existsSync(prebuilds)).toBe(native);
    for (const platform of native ? readdirSync(prebuilds) : []) {
      expect(platform).toMatch(new RegExp(`^${process.platform}-${process.arch}(-musl)?$`));
      expect(readdirSync(join(prebuilds, platform))).toEqual(['wafstate.node']);
    }
  });

  test('loads that addon', () => {
    writeFileSync(
      join(app, 'status.mjs'),
      `import { nativeStatus } from 'wafstate';\nconsole.log(JSON.stringify(nativeStatus()));`,
    );
    const status = JSON.parse(succeed(process.execPath, ['status.mjs'], app));
    expect(status.loaded).toBe(native);
    if (native) expect(status.path).toContain(join('node_modules', 'wafstate', 'prebuilds'));
  });

  test('runs the example of the README, as ES module and as CommonJS, on the same state', () => {
    rmSync(join(app, 'state'), { recursive: true, force: true });
    succeed(process.execPath, ['example.mjs'], app);
    succeed(process.execPath, ['example.cjs'], app);
    expect(succeed(process.execPath, ['failures.mjs'], app).trim()).toBe('2');
  });

  test('is one package for an application that loads both copies', () => {
    writeFileSync(
      join(app, 'both.mjs'),
      `import { createRequire } from 'node:module';
       import { WafStateError } from 'wafstate';
       const other = createRequire(import.meta.url)('wafstate').WafStateError;
       const error = new other('conflict', 'made by the other copy');
       console.log(other !== WafStateError, error instanceof WafStateError, error.code);`,
    );
    expect(succeed(process.execPath, ['both.mjs'], app).trim()).toBe('true true conflict');
  });

  test('has stores, for import and for require, in one process', () => {
    writeFileSync(
      join(app, 'stores.mjs'),
      `import { createRequire } from 'node:module';
       import * as imported from 'wafstate/store';
       const required = createRequire(import.meta.url)('wafstate/store');
       const yaml = 'entries: [{ name: s, kind: store.lmdb, database: e, namespace: n, lifecycle: { auto_start: true } }, { name: e, kind: engine.lmdb, path: ./stores }]';
       const [one, other] = [await imported.loadStores(yaml), await required.loadStores(yaml)];
       await (await one.open('s')).set('k', { n: 1 });
       console.log(JSON.stringify(await (await other.open('s')).get('k')));
       await Promise.all([one.close(), other.close()]);`,
    );
    expect(succeed(process.execPath, ['stores.mjs'], app).trim()).toBe('{"n":1}');
  });

  test('resolves with its types under NodeNext, for import and for require', () => {
    mkdirSync(join(app, 'node_modules', '@types'), { recursive: true });
    for (const types of ['@types/node', 'undici-types']) {
      symlinkSync(join(root, 'node_modules', types), join(app, 'node_modules', types));
    }
    const use = `
      async function use(): Promise<void> {
        const backend = await openLmdb({ path: './state', mapSize: 2 ** 30 });
        // @ts-expect-error: the options are checked
        await openLmdb({ path: './state', noSuchOption: true });
        const tx = new Collections({ backend, failurePolicy: 'fail_closed' }).begin();
        const value: string | undefined = tx.get('ip', 'failures');
        // @ts-expect-error: and so are the results
        const number: number = tx.get('ip', 'failures');
        compileActions('setvar:ip.failures=+1').apply(tx, (variable) => variable);
        // @ts-expect-error: a macro stands for text or bytes
        compileActions('setvar:ip.failures=+1').apply(tx, () => 1);
        // @ts-expect-error: rules are compiled, not text
        guard({ collections: new Collections({ backend }), rules: 'SecAction "id:1"' });
        const stores = await loadStores({ entries: [] });
        // @ts-expect-error: a value is no null
        await (await stores.open('cache')).set('k', null);
        console.log(value, number, testing);
      }
      void use();`;
    writeFileSync(
      join(app, 'consumer.mts'),
      `import { Collections, openLmdb } from 'wafstate';\nimport { compileActions } from 'wafstate/seclang';\nimport { guard } from 'wafstate/guard';\nimport { loadStores } from 'wafstate/store';\nimport * as testing from 'wafstate/testing';\n${use}`,
    );
    writeFileSync(
      join(app, 'consumer.cts'),
      `import wafstate = require('wafstate');\nimport testing = require('wafstate/testing');\nimport { compileActions } from 'wafstate/seclang';\nimport { guard } from 'wafstate/guard';\nimport { loadStores } from 'wafstate/store';\nconst { Collections, openLmdb } = wafstate;\n${use}`,
    );
    writeFileSync(
      join(app, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          module: 'NodeNext',
          target: 'ES2022',
          lib: ['ES2023', 'ESNext.Disposable'],
          types: ['node'],
          strict: true,
          exactOptionalPropertyTypes: true,
          noEmit: true,
        },
        files: ['consumer.mts', 'consumer.cts'],
      }),
    );
    succeed(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', '.'], app);
  });

  test('has a command line', () => {
    const help = succeed(join(app, 'node_modules', '.bin', 'wafstate'), ['--help'], app);
    expect(help).toContain('replay');
  });

  test('works but for LMDB in TypeScript where the lmdb package has no binary', () => {
    const binaries = join(app, 'node_modules', '@lmdb');
    const aside = join(work, 'binaries');
    const built = join(app, 'node_modules', 'lmdb', 'build');
    expect(existsSync(binaries)).toBe(true);
    renameSync(binaries, aside);
    rmSync(built, { recursive: true, force: true });
    const program = (load: string): string => `
      async function main() {
        const { nativeStatus, openLmdb, openMemory } = ${load};
        const memory = openMemory();
        await memory.close();
        const open = async (implementation) => {
          try {
            const backend = await openLmdb({ path: './without', implementation });
            await backend.close();
            return 'opened';
          } catch (error) {
            return error.code + ' ' + error.message;
          }
        };
        console.log(JSON.stringify([await open('typescript'), nativeStatus().loaded && (await open('native'))]));
      }
      main();`;
    writeFileSync(join(app, 'without.mjs'), program("await import('wafstate')"));
    writeFileSync(join(app, 'without.cjs'), program("require('wafstate')"));
    try {
      for (const file of ['without.mjs', 'without.cjs']) {
        const [typescript, natively] = JSON.parse(succeed(process.execPath, [file], app));
        expect(typescript).toMatch(
          /^missing_feature openLmdb: the lmdb package.*does not load: .*; install its binary, the optional package @lmdb\/lmdb-/,
        );
        expect(natively).toBe(native ? 'opened' : false);
      }
      const cli = join(app, 'node_modules', '.bin', 'wafstate');
      succeed(cli, ['replay', '--engine', 'memory', '--requests', '2000'], app);
      const listed = run(cli, ['list', '--path', './without'], app, { WAFSTATE_NATIVE: '0' });
      expect(`${listed.status} ${listed.stderr}`).toMatch(
        native ? /^3 wafstate: .*the lmdb package[^\n]*\n$/ : /^3 wafstate: there is no state at/,
      );
    } finally {
      renameSync(aside, binaries);
    }
  });

  test('works with the addon deleted', () => {
    rmSync(join(installed, 'prebuilds'), { recursive: true, force: true });
    rmSync(join(app, 'state'), { recursive: true, force: true });
    succeed(process.execPath, ['example.cjs'], app);
    succeed(process.execPath, ['example.mjs'], app);
    expect(succeed(process.execPath, ['failures.mjs'], app).trim()).toBe('2');
  });
});
