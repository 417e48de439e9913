import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { nativeStatus } from 'wafstate';
import { scratchDirectory } from './directory.js';
import { IMPLEMENTATIONS } from './implementations.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PACKAGE = join(ROOT, 'dist', 'index.js');

/** Runs a script of its own process: what is looked for is process-wide. */
function run(script: string, ...args: string[]): string {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', script, ...args],
    {
      encoding: 'utf8',
      cwd: ROOT,
      timeout: 50_000,
    },
  );
  return status === 0 ? stdout.trim() : `${status}: ${stderr}`;
}

const OPEN_AND_REPORT = `
  const report = (open) => open.then(
    async (backend) => { await backend.close(); return 'opened'; },
    (error) => [error.code, error.details?.option, error.message].join(' | '));`;

/** Opens by the copy `argv[2]` in a thread while copy `argv[1]` has it open in the main thread. */
const IN_ANOTHER_THREAD = `
  import { Worker } from 'node:worker_threads';
  ${OPEN_AND_REPORT}
  const [, first, second, path, firstImplementation, secondImplementation] = process.argv;
  const { openLmdb } = await import(first);
  const backend = await openLmdb({ path, implementation: firstImplementation });
  const worker = new Worker(\`
    import { parentPort, workerData } from 'node:worker_threads';
    ${OPEN_AND_REPORT.replaceAll('`', '\\`')}
    const { openLmdb } = await import(workerData.second);
    parentPort.postMessage(await report(openLmdb(workerData.options)));\`,
    { eval: true, workerData: { second, options: { path, implementation: secondImplementation } } });
  console.log(await new Promise((resolve, reject) => worker.on('message', resolve).on('error', reject)));
  await worker.terminate();
  await backend.close();`;

const IN_ONE_THREAD = `
  ${OPEN_AND_REPORT}
  const [, first, second, path, firstImplementation, secondImplementation] = process.argv;
  const backend = await (await import(first)).openLmdb({ path, implementation: firstImplementation });
  const other = await import(second);
  console.log(await report((other.openLmdb ?? other.default.openLmdb)({ path, implementation: secondImplementation })));
  await backend.close();`;

/** A second installation: the same files at another place. */
function copyOfPackage(directory: string): string {
  const copy = join(directory, 'copy');
  cpSync(join(ROOT, 'dist'), join(copy, 'dist'), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(copy, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const addon = nativeStatus().path;
  if (addon !== undefined) {
    mkdirSync(join(copy, 'build', 'Release'), { recursive: true });
    cpSync(addon, join(copy, 'build', 'Release', 'wafstate.node'));
  }
  return join(copy, 'dist', 'index.js');
}

describe.runIf(process.platform === 'linux')('one environment and one process', () => {
  const directory = scratchDirectory();
  const copy = copyOfPackage(directory);
  let count = 0;
  const fresh = (): string => join(directory, `environment ${++count}`);

  for (const implementation of IMPLEMENTATIONS) {
    it(`are shared by the ES module and the CommonJS copy, and by threads, ${implementation}`, () => {
      const common = join(ROOT, 'dist', 'index.cjs');
      expect(run(IN_ONE_THREAD, PACKAGE, common, fresh(), implementation, implementation)).toBe('opened');
      expect(run(IN_ANOTHER_THREAD, PACKAGE, common, fresh(), implementation, implementation)).toBe('opened');
    });

    it(`are not shared with what the application opened by the lmdb package itself, ${implementation}`, () => {
      const script = `
        import { open } from 'lmdb';
        ${OPEN_AND_REPORT}
        const [, file, path, implementation] = process.argv;
        const { openLmdb } = await import(file);
        await (await openLmdb({ path, implementation })).close();
        const own = open({ path, noSubdir: false });
        console.log(await report(openLmdb({ path, implementation })));
        await own.close();
        console.log(await report(openLmdb({ path, implementation })));`;
      const [refused, after] = run(script, PACKAGE, fresh(), implementation).split('\n');
      expect(refused).toMatch(
        /^invalid_option \| path \| openLmdb: this process has .*data\.mdb open by other means than wafstate \(/,
      );
      if (implementation === 'native') {
        expect(refused).toMatch(
          /loaded are \S*lmdb\S*\.node\), and wafstate would open it by \S*wafstate\.node/,
        );
      }
      expect(after).toBe('opened');
    });
  }

  it.runIf(IMPLEMENTATIONS.length === 2)('are not shared by two copies of the addon', () => {
    const path = fresh();
    for (const script of [IN_ONE_THREAD, IN_ANOTHER_THREAD]) {
      const refused = run(script, PACKAGE, copy, path, 'native', 'native');
      expect(refused).toMatch(/^invalid_option \| (library|implementation) \| openLmdb: /);
      expect(refused).toContain(join(ROOT, 'build', 'Release', 'wafstate.node'));
      expect(refused).toContain(join(dirname(copy), '..', 'build', 'Release', 'wafstate.node'));
    }
  });

  it('are shared by two copies of the package over one lmdb package', () => {
    expect(run(IN_ONE_THREAD, PACKAGE, copy, fresh(), 'typescript', 'typescript')).toBe('opened');
    expect(run(IN_ANOTHER_THREAD, PACKAGE, copy, fresh(), 'typescript', 'typescript')).toBe('opened');
  });

  it('are not shared by two copies of the lmdb package', () => {
    const path = fresh();
    const modules = join(dirname(copy), '..', 'node_modules');
    rmSync(modules);
    mkdirSync(modules);
    for (const name of readdirSync(join(ROOT, 'node_modules'))) {
      const [from, to] = [join(ROOT, 'node_modules', name), join(modules, name)];
      if (name === 'lmdb' || name === '@lmdb') cpSync(from, to, { recursive: true, dereference: true });
      else symlinkSync(from, to);
    }
    const refused = run(IN_ONE_THREAD, PACKAGE, copy, path, 'typescript', 'typescript');
    expect(refused).toMatch(
      /^invalid_option \| library \| openLmdb: this process has .* open with library \S*lmdb\S*, not \S*lmdb/,
    );
  });

  it.runIf(IMPLEMENTATIONS.length === 2)(
    'are not shared by the implementations, in whichever threads',
    () => {
      for (const [first, second] of [
        ['native', 'typescript'],
        ['typescript', 'native'],
      ] as const) {
        for (const script of [IN_ONE_THREAD, IN_ANOTHER_THREAD]) {
          expect(run(script, PACKAGE, PACKAGE, fresh(), first, second)).toMatch(
            new RegExp(
              `^invalid_option \\| implementation \\| .* open with implementation ${first}, not ${second}`,
            ),
          );
        }
      }
    },
  );
});
