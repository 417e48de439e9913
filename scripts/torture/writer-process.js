// A process under torture, seen from its parent.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const WRITER = fileURLToPath(new URL('./writer.mjs', import.meta.url));
/** A process that has not got so far by then hangs. */
const PATIENCE_MILLISECONDS = 60_000;
const MAX_ERROR_CHARACTERS = 2000;

/** A process that runs writer.mjs. */
export class WriterProcess {
  #child;
  #waiting = new Map();
  #seen = new Set();
  /** The end of what it wrote to standard error. */
  errors = '';

  constructor(setup, environment) {
    this.#child = fork(WRITER, [JSON.stringify(setup)], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    this.#child.stderr.on('data', (chunk) => {
      this.errors = (this.errors + chunk).slice(-MAX_ERROR_CHARACTERS);
    });
    this.ended = new Promise((resolve) =>
      this.#child.on('close', (code, signal) => {
        this.exit = signal ?? code;
        resolve(this.exit);
      }),
    );
    this.#child.on('message', (message) => {
      this.#seen.add(message);
      this.#waiting.get(message)?.();
    });
  }

  /** True when the message has come, false where the process ends before. Throws where neither happens in time. */
  async says(message) {
    const said = this.#seen.has(message)
      ? Promise.resolve(true)
      : new Promise((resolve) => this.#waiting.set(message, () => resolve(true)));
    return inTime(Promise.race([said, this.ended.then(() => false)]), `a process did not say '${message}'`);
  }

  /** Whether the message has come since the last one was sent. */
  said(message) {
    return this.#seen.has(message);
  }

  send(message) {
    for (const answer of ['open', 'paused']) this.#seen.delete(answer);
    // It may be dead already.
    this.#child.send(message, () => undefined);
  }

  signal(name) {
    this.#child.kill(name);
  }

  kill() {
    this.signal('SIGKILL');
  }
}

export async function inTime(promise, complaint) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${complaint} within ${PATIENCE_MILLISECONDS / 1000} s: it hangs`)),
      PATIENCE_MILLISECONDS,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
