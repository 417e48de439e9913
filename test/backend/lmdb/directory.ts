import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** A new directory for a test's environments, away at the end of the file's tests. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'wafstate-lmdb-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
