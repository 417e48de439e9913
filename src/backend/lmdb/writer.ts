import { workerData } from 'node:worker_threads';
import { move } from 'piscina';
import { WafStateError } from '../../contract/errors.js';
import { TypeScriptWriter, type Writer } from './typescript-writer.js';
import { failedAnswer, type WriterAnswer, type WriterSetup, type WriterTask } from './writer-task.js';

/**
 * The file of the writer thread: piscina runs the default export for every task. The environment is opened with the first
 * task, so that a thread which replaces one that died needs no telling.
 */
let writer: Promise<Writer> | undefined;

function open(): Promise<Writer> {
  writer ??= TypeScriptWriter.open(workerData as WriterSetup);
  return writer;
}

export default async function run(task: WriterTask): Promise<WriterAnswer> {
  try {
    return await perform(await open(), task);
  } catch (error) {
    // Errors lose their fields between threads, so they travel as data.
    if (error instanceof WafStateError) return failedAnswer(error);
    throw error;
  }
}

async function perform(opened: Writer, task: WriterTask): Promise<WriterAnswer> {
  switch (task.type) {
    case 'open':
      return null;
    case 'batch': {
      const reply = opened.execute(task.sequence, task.batch);
      return reply === undefined ? null : (move(reply) as typeof reply);
    }
    case 'cleanup':
      return opened.cleanup(task.now, task.budget, task.interval);
    case 'sync':
      await opened.sync();
      return null;
    case 'close':
      await opened.close();
      return null;
  }
}
