import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { preloadLibrary } from '../../scripts/torture/preload.js';
import { IMPLEMENTATIONS } from '../backend/lmdb/implementations.js';
import { run } from './program.js';

const scratch = mkdtempSync(join(tmpdir(), 'wafstate-stalled-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const library = process.platform === 'linux' ? preloadLibrary('disk-staller') : undefined;
if (library === undefined) console.warn('stalled disks are not tested: that takes Linux and a C compiler');

/** Runs a program that may `stall` the disk of its environment, and let it `go`. */
function runOnDisk(name: string, implementation: string, body: string) {
  const path = join(scratch, `${name} ${implementation}`);
  const file = join(scratch, `${name} ${implementation} stalls`);
  const shell = `LD_PRELOAD='${library}' WAFSTATE_STALL_DATA='${path}/data.mdb' WAFSTATE_STALL_WHILE='${file}'`;
  const prelude = `
    import { rmSync, writeFileSync } from 'node:fs';
    const [path, implementation, file] = args;
    const stall = () => writeFileSync(file, '');
    const go = () => rmSync(file);
    const tally = async (promises) => {
      const words = {};
      for (const word of await Promise.all(promises.map(told))) words[word] = (words[word] ?? 0) + 1;
      return JSON.stringify(words);
    };`;
  return run(prelude + body, [path, implementation, file], shell);
}

describe.runIf(library !== undefined).each(IMPLEMENTATIONS)(
  'LMDB, %s, on a disk that stalls',
  (implementation) => {
    it('for a while bounds its queue, goes on reading, keeps deadlines, and settles everything afterwards', () => {
      const { lines, status, stderr } = runOnDisk(
        'short',
        implementation,
        `
      const backend = await openLmdb({ path, implementation, queueRequests: 100, writerTimeout: 40 });
      await add(backend);
      stall();
      const deadline = add(backend, 'other', { deadline: NOW + 200_000_000n }).catch((error) => error);
      const accepted = Array.from({ length: 99 }, () => add(backend));
      console.log(await tally(Array.from({ length: 900 }, () => add(backend))), backend.stats().queuedRequests, count(backend));
      const late = await deadline;
      console.log(late.code, late.details.outcome, count(backend));
      go();
      console.log(await tally(accepted), await late.settled, count(backend), count(backend, 'other'));
      await backend.close();`,
      );
      expect({ lines, status, stderr }).toEqual({
        lines: [
          '{"WafStateError queue_full queueRequests":900} 100 1',
          'timeout unknown 1',
          '{"ok":99} applied 100 1',
        ],
        status: 0,
        stderr: '',
      });
    });

    it('for longer than writerTimeout loses its writer, says what to do, and finds it when the disk goes on', () => {
      const { lines, status, stderr } = runOnDisk(
        'long',
        implementation,
        `
      const backend = await openLmdb({ path, implementation, writerTimeout: 6 });
      await add(backend);
      stall();
      const failures = await Promise.all(Array.from({ length: 50 }, () => add(backend).catch((error) => error)));
      console.log([...new Set(failures.map(({ code, details }) => code + ' ' + details.outcome))].join(', '), count(backend));
      const later = await add(backend).catch((error) => error);
      console.log(later.code, /a disk stalls.*go on once that ends, else restart this process/.test(later.message));
      console.log(await told(backend.cleanup(NOW, { records: 1, variables: 1 })), count(backend));
      go();
      const settled = await Promise.all(failures.map((error) => error.settled ?? 'never sent'));
      const applied = settled.filter((word) => word === 'applied').length;
      console.log(settled.includes(undefined), applied > 0, count(backend) === 1 + applied);
      console.log(await tally(Array.from({ length: 50 }, () => add(backend))), count(backend) === 51 + applied);
      await backend.close();`,
      );
      expect({ lines, status, stderr }).toEqual({
        lines: [
          'writer_lost unknown 1',
          'writer_lost true',
          'WafStateError writer_lost writerTimeout 1',
          'false true true',
          '{"ok":50} true',
        ],
        status: 0,
        stderr: '',
      });
    });

    it('does not keep a process that gives up from ending', () => {
      const { lines, signal } = runOnDisk(
        'exit',
        implementation,
        `
      const backend = await openLmdb({ path, implementation, writerTimeout: 6 });
      await add(backend);
      stall();
      console.log(await told(add(backend)), await told(backend.close()));
      process.exit();`,
      );
      // Only a signal ends a thread that waits for a disk.
      expect({ lines, signal }).toEqual({ lines: ['WafStateError writer_lost ok'], signal: 'SIGKILL' });
    });
  },
);
