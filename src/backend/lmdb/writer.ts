import { workerData } from 'node:worker_threads';
import { move } from 'piscina';
import { WafStateError } from '../../contract/errors.js';
import { loadAddon } from '../../record/addon.js';
import type { NativeEnvironmentAddon } from './native-addon.js';
import { NativeWriter } from './native-writer.js';
import { TypeScriptWriter } from './typescript-writer.js';
import {
  failedAnswer,
  type Writer,
  type WriterAnswer,
  type WriterSetup,
  type WriterTask,
} from './writer-task.js';

/**
 * The file of the writer thread: piscina runs the default export for every task. The environment is opened with the first
 * task, so that a thread which replaces one that died needs no telling.
 */
let writer: Promise<Writer> | undefined;

function open(): Promise<Writer> {
  writer ??= openWriter(workerData as WriterSetup);
  return writer;
}

async function openWriter(setup: WriterSetup): Promise<Writer> {
  if (setup.implementation === 'typescript') return TypeScriptWriter.open(setup);
  const addon = loadAddon<NativeEnvironmentAddon>();
  if (addon === undefined)
    throw new WafStateError(
      'missing_feature',
      'the addon does not load in the writer thread, though it does in its caller',
    );
  return new NativeWriter(addon, setup);
}

export default async function run(task: WriterTask): Promise<WriterAnswer> {
  try {
    return await perform(await open(), task);
  } catch (error) {
    // Errors lose their fields between threads, so they travel as data.
    return failedAnswer(error instanceof WafStateError ? error : engineError(error, task));
  }
}

async function perform(opened: Writer, task: WriterTask): Promise<WriterAnswer> {
  switch (task.type) {
    case 'open':
      return null;
    case 'batch': {
      const reply = opened.execute(task.sequence, task.batch);
      // A buffer of its own: moving one that lies in Buffer's pool would take the pool away.
      return reply === undefined ? null : (move(ownBytes(reply)) as Uint8Array<ArrayBuffer>);
    }
    case 'cleanup':
      return opened.cleanup(task.now, task.budget, task.interval);
    case 'restore':
      return opened.restore(task.records, task.onConflict, task.now);
    case 'sync':
      await opened.sync();
      return null;
    case 'close':
      await opened.close();
      return null;
  }
}

/** What the `lmdb` package threw outside a batch: 5 and 28 are what a broken or full disk gives. */
function engineError(error: unknown, task: WriterTask): WafStateError {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : 0;
  if (code === 5 || code === 28) {
    return new WafStateError(
      'capacity_exceeded',
      `the disk is full or broken (errno ${code}, ${task.type}); free space and retry`,
      {
        details: { actual: code },
      },
    );
  }
  const message = error instanceof Error ? error.message : String(error);
  return new WafStateError(
    'unavailable',
    `LMDB failed at ${task.type}: ${message}; verify the environment if it stays`,
    {
      details: { actual: code },
    },
  );
}

function ownBytes(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}
