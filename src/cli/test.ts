import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLmdb } from '../backend/lmdb/open-lmdb.js';
import { openMemory } from '../backend/memory/memory.js';
import { openSharedMemory } from '../backend/shared-memory/shared-memory.js';
import type { Backend } from '../contract/backend.js';
import { type Arguments, type CommandSpec, EXIT } from './arguments.js';
import { CaseError, type CaseFile, readCase } from './case-file.js';
import { runCase } from './case-run.js';
import { print } from './output.js';

export const TEST: CommandSpec = {
  name: 'test',
  summary: 'Runs files of rules, requests and what is to come of them, and tells which hold.',
  operands: ['CASE…'],
  options: {
    engine: {
      type: 'choice',
      choices: ['memory', 'shared-memory', 'lmdb'],
      initial: 'memory',
      help: 'what keeps the state',
    },
  },
  notes: `Each case gets an engine of its own, without anything in it, and a clock that moves only by sleep_before_ms, so that nothing
really sleeps. A case with a field, directive or construct that is unknown has failed. Ends with status 1 if any has, and 3 if a file
cannot be read.

  wafstate test cases/*.json
  wafstate test login.json --engine lmdb`,
};

interface Result {
  readonly file: string;
  readonly failures: readonly string[];
}

export async function test(args: Arguments): Promise<number> {
  const results: Result[] = [];
  // A file that is not there is found before the first case runs.
  const cases = args.operands.map((file) => ({ file, read: readable(file) }));
  for (const { file, read } of cases) {
    const failures =
      read instanceof CaseError ? [read.message] : await runRead(file, read, args.text('engine') as string);
    results.push({ file, failures });
    if (args.flag('json')) continue;
    for (const failure of failures) print(`FAILED ${file}: ${failure}\n`);
  }
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  const passed = results.length - failed;
  print(
    args.flag('json')
      ? `${JSON.stringify({ passed, failed, cases: results })}\n`
      : `${passed} passed, ${failed} failed\n`,
  );
  return failed === 0 ? EXIT.success : EXIT.finding;
}

function readable(file: string): CaseFile | CaseError {
  try {
    return readCase(file);
  } catch (error) {
    if (error instanceof CaseError) return error;
    throw error;
  }
}

async function runRead(file: string, read: CaseFile, engine: string): Promise<string[]> {
  try {
    return await withEngine(engine, (backend) => runCase(read, backend, file));
  } catch (error) {
    if (!(error instanceof CaseError)) throw error;
    return [error.message];
  }
}

async function withEngine<T>(engine: string, work: (backend: Backend) => Promise<T>): Promise<T> {
  if (engine !== 'lmdb') {
    const backend =
      engine === 'memory'
        ? openMemory({ cleanupInterval: 0 })
        : await openSharedMemory({ name: `case-${randomUUID()}`, maxBytes: 2 ** 24, cleanupInterval: 0 });
    try {
      return await work(backend);
    } finally {
      await backend.close();
    }
  }
  const path = mkdtempSync(join(tmpdir(), 'wafstate-case-'));
  try {
    const backend = await openLmdb({ path, durability: 'relaxed', cleanupInterval: 0 });
    try {
      return await work(backend);
    } finally {
      await backend.close();
    }
  } finally {
    rmSync(path, { recursive: true });
  }
}
