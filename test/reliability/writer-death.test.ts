import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, openLmdb } from 'wafstate';
import { commit } from '../../scripts/torture/ledger.js';
import { preloadLibrary } from '../../scripts/torture/preload.js';
import { WriterProcess } from '../../scripts/torture/writer-process.js';
import { scratchDirectory } from '../backend/lmdb/directory.js';
import { IMPLEMENTATIONS } from '../backend/lmdb/implementations.js';
import { torture } from './script.js';

describe.runIf(IMPLEMENTATIONS.includes('native'))('threads that write natively', () => {
  it('die at any moment, and nothing acknowledged is lost, torn or hanging', async () => {
    const [run] = await torture('--writer-deaths', '12', '--durability', 'durable');
    expect(run).toMatchObject({ faults: [], deaths: 12 });
  }, 120_000);
});

/** What an open by another process ends with. It exits by itself, or is ended by its exit handler. */
function openElsewhere(open: object): Promise<string> {
  const program = `import('wafstate').then(async ({ openLmdb }) => {
    const end = (text) => process.stdout.write(text, () => process.exit());
    await openLmdb(${JSON.stringify(open)}).then(() => end('opened'), (error) => end(error.kind));
  });`;
  return new Promise((resolve) => {
    execFile(process.execPath, ['-e', program], (_, stdout) => resolve(stdout));
  });
}

describe.each(IMPLEMENTATIONS)('a stopped process that holds the gate, %s', (implementation) => {
  const directory = scratchDirectory();
  const open = {
    path: join(directory, 'state'),
    implementation,
    mapSize: 2 ** 24,
    writerTimeout: 1,
  } as const;
  let stopped: WriterProcess;

  beforeAll(async () => {
    await (await openLmdb(open)).close();
    mkdirSync(join(directory, 'journals'));
    stopped = new WriterProcess(
      { open, journals: join(directory, 'journals'), lanes: 4 },
      {
        LD_PRELOAD: preloadLibrary('step-killer'),
        WAFSTATE_TORTURE_DIRECTORY: open.path,
        WAFSTATE_TORTURE_STEP: 'in-transaction',
        WAFSTATE_TORTURE_NTH: '20',
        WAFSTATE_TORTURE_SIGNAL: '19',
      },
    );
  });
  afterAll(async () => {
    stopped.kill();
    await stopped.ended;
  });

  it('costs the others their writer and nothing else, in bounded time', async () => {
    const backend = await openLmdb(open);
    await commit(backend, 'ours', 1, 0);
    await stopped.says('ready');
    stopped.send({ type: 'write', names: ['theirs'] });
    await stopped.says('open');
    let sequence = 1;
    let failure: { code?: string; message?: string } | undefined;
    while (failure === undefined) {
      failure = await commit(backend, 'ours', ++sequence, 0).then(
        () => undefined,
        (error: { code: string; message: string }) => error,
      );
    }
    expect(failure).toMatchObject({ code: 'writer_lost', message: expect.stringContaining('restart') });
    const later = await commit(backend, 'ours', sequence + 1, 0).catch((error: unknown) => error);
    expect(later).toMatchObject({ code: 'writer_lost' });
    const name = { space: 1, applicationId: '', key: 'lane ours a' } as never;
    const { variables } = backend.loadSync(name, 0n, DEFAULT_LIMITS);
    expect(variables.get('sequence' as never)?.value).toBe(String(sequence - 1));
    expect(await openElsewhere(open)).toBe('unavailable');
    await backend.close().catch((error: unknown) => expect(error).toMatchObject({ code: 'writer_lost' }));
  }, 90_000);
});
