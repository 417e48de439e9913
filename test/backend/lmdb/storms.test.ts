import { execFile, fork } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, openLmdb } from 'wafstate';
import { scratchDirectory } from './directory.js';
import { IMPLEMENTATIONS } from './implementations.js';

/** Samples of what the scripts show in full; each prints a line a run and ends with 1 where something was lost. */
async function script(name: string, ...options: string[]): Promise<string> {
  const file = fileURLToPath(new URL(`../../../scripts/${name}.mjs`, import.meta.url));
  return (await promisify(execFile)(process.execPath, [file, ...options])).stdout;
}

describe.each(IMPLEMENTATIONS)('many at once, %s', (implementation) => {
  it('threads and processes count exactly', async () => {
    const counts = [
      '--threads',
      '4',
      '--thread-increments',
      '1000',
      '--processes',
      '3',
      '--process-increments',
      '500',
    ];
    const output = await script('exactness', '--implementation', implementation, ...counts);
    expect(output).toMatch(/4 threads x 1000 = 4000,.*3 processes x 500 = 1500,/s);
  });

  it.each(['durable', 'relaxed'])('opening beside %s writers harms nobody', async (durability) => {
    const counts = ['--opens', '16', '--writers', '2', '--burners', '1', '--command-lines', '1'];
    const options = ['--implementation', implementation, '--durability', durability];
    const output = await script('open-storm', ...options, ...counts);
    expect(output).toMatch(/ 0 not seen at once, 0 damaged records, 0 processes failed/);
  });

  it('a process that exits in the middle of batches ends', async () => {
    const output = await script('exit-storm', '--implementation', implementation, '--runs', '3');
    expect(output).toMatch(/3 of 3 ended, .* runs that lost some: 0/);
  });

  it('a process that is killed in the middle of batches leaves the others to go on', async () => {
    const open = { path: join(scratchDirectory(), 'state'), implementation, mapSize: 2 ** 26 } as const;
    const survivor = await openLmdb(open);
    const exits = fileURLToPath(new URL('../../../scripts/exit-storm.mjs', import.meta.url));
    const increment = { type: 'add', name: 'n', delta: 1n } as never;
    for (let round = 1; round <= 5; round++) {
      const share = JSON.stringify({ open, key: 'theirs', after: 60_000 });
      const child = fork(exits, ['--share', share], { silent: true });
      const theirs = (): bigint => {
        const record = { space: 1, applicationId: '', key: 'theirs' } as never;
        return BigInt(
          survivor.loadSync(record, 0n, DEFAULT_LIMITS).variables.get('count' as never)?.value ?? 0,
        );
      };
      const before = theirs();
      while (theirs() === before) await new Promise((resolve) => setTimeout(resolve, 5));
      child.kill('SIGKILL');
      const record = { space: 1, applicationId: '', key: 'ours' } as never;
      const [result] = await survivor.commit([{ record, expect: 'any', mutations: [increment] }], {
        now: 0n,
        limits: DEFAULT_LIMITS,
      });
      expect(result?.values.get('n' as never)?.value).toBe(String(round));
    }
    await survivor.close();
  });
});
