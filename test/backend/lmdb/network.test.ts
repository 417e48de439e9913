import { readdirSync, statfsSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { resolveLmdbOptions } from '../../../src/backend/lmdb/options.js';
import { preflight } from '../../../src/backend/lmdb/preflight.js';
import { scratchDirectory } from './directory.js';

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  return { ...fs, statfsSync: vi.fn(fs.statfsSync) };
});

describe.runIf(process.platform === 'linux')('a path on a network', () => {
  it('is refused before anything is made in it', () => {
    const path = scratchDirectory();
    vi.mocked(statfsSync).mockImplementation((() => ({
      type: 0x6969,
      bavail: 2 ** 30,
      bsize: 4096,
    })) as never);
    expect(() => preflight(resolveLmdbOptions({ path }), () => false)).toThrow(
      expect.objectContaining({
        code: 'invalid_option',
        message: expect.stringMatching(
          /lies on NFS \(file system type 0x6969\), .* choose a directory on a local disk/,
        ),
        details: { option: 'path', actual: 0x6969 },
      }),
    );
    expect(readdirSync(path)).toEqual([]);
  });
});
