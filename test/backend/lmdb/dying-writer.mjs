// A writer for the tests of its host. The batch tells what happens: its first byte.
import { workerData } from 'node:worker_threads';

const ECHO = 1;
const DIE = 2;
const OUT_OF_MEMORY = 3;
const THROW = 4;
const HANG = 5;
const SLOW = 6;

export default async function run(task) {
  if (task.type !== 'batch') return null;
  switch (task.batch[0]) {
    case ECHO:
      return new Uint8Array(task.batch);
    case DIE:
      process.exit(3);
      break;
    case OUT_OF_MEMORY: {
      const heap = [];
      for (;;) heap.push(new Array(100_000).fill(workerData));
    }
    case THROW:
      setTimeout(() => {
        throw new Error('uncaught');
      });
      return new Promise(() => undefined);
    case HANG:
      return new Promise(() => undefined);
    case SLOW:
      await new Promise((resolve) => setTimeout(resolve, 1000));
      return Uint8Array.of(ECHO);
  }
  return null;
}
