import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openLmdb } from 'wafstate';
import { scratchDirectory } from './directory.js';
import { IMPLEMENTATIONS } from './implementations.js';

const PACKAGE = fileURLToPath(new URL('../../../dist/index.js', import.meta.url));
const FILES = ['data.mdb', 'lock.mdb', 'gate/data.mdb', 'gate/lock.mdb'];

describe.each(IMPLEMENTATIONS)('what openLmdb makes, %s,', (implementation) => {
  const directory = scratchDirectory();

  /** In a process of its own, since the umask belongs to the process. */
  function make(path: string, umask: number, options: object): void {
    const script = `
      import { openLmdb } from ${JSON.stringify(PACKAGE)};
      process.umask(${umask});
      const backend = await openLmdb(${JSON.stringify({ path, implementation, ...options })});
      await backend.close();`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect(`${status} ${stderr}`).toBe('0 ');
  }

  const modes = (path: string): number[] =>
    ['', 'gate', ...FILES].map((name) => statSync(join(path, name)).mode & 0o777);

  it.each([0, 0o022, 0o077, 0o777])('is for its owner alone, under umask %o', (umask) => {
    const path = join(directory, `default ${umask}`);
    make(path, umask, {});
    expect(modes(path)).toEqual([0o700, 0o700, 0o600, 0o600, 0o600, 0o600]);
  });

  it('has the modes that were asked for, whatever the umask takes away', () => {
    const path = join(directory, 'asked');
    make(path, 0o077, { mode: 0o660, directoryMode: 0o770 });
    expect(modes(path)).toEqual([0o770, 0o770, 0o660, 0o660, 0o660, 0o660]);
  });

  it.each(['gate', ...FILES])('never lies where a link for %s leads', async (name) => {
    const path = join(directory, `link ${name.replace('/', ' ')}`);
    make(path, 0o022, {});
    // A sound one, so that nothing but the link is wrong with it.
    renameSync(join(path, name), join(path, 'elsewhere'));
    symlinkSync(join(path, 'elsewhere'), join(path, name));
    await expect(openLmdb({ path, implementation })).rejects.toMatchObject({
      code: 'invalid_option',
      message: expect.stringMatching(/is a symbolic link/),
    });
    rmSync(join(path, name));
    symlinkSync(join(path, 'not there'), join(path, name));
    await expect(openLmdb({ path, implementation })).rejects.toMatchObject({ code: 'invalid_option' });
    expect(lstatSync(join(path, 'not there'), { throwIfNoEntry: false })).toBeUndefined();
  });

  it('is not made below a link that leads nowhere', async () => {
    const link = join(directory, 'nowhere');
    mkdirSync(join(directory, 'place'), { recursive: true });
    symlinkSync(join(directory, 'place', 'state'), link);
    await expect(openLmdb({ path: link, implementation })).rejects.toMatchObject({ code: 'not_found' });
    expect(lstatSync(join(directory, 'place', 'state'), { throwIfNoEntry: false })).toBeUndefined();
  });
});
