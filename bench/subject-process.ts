import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { CallName, Calls, Reply } from './protocol.js';
import type { OpenOptions, Subject } from './subject.js';

const HOST = fileURLToPath(new URL('./subject-host.js', import.meta.url));

/** A subject in a process of its own, so that neither its heap nor its compiled code is another's. */
export class SubjectProcess {
  readonly subject: Subject;
  readonly #child: ChildProcess;
  readonly #ended: Promise<string>;

  private constructor(subject: Subject, child: ChildProcess) {
    this.subject = subject;
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve(signal ?? `status ${code}`));
      child.once('error', (error) => resolve(error.message));
    });
  }

  /** Starts the process and opens the subject in it. Rejects with what the subject said where it cannot. */
  static async start(subject: Subject, options: OpenOptions): Promise<SubjectProcess> {
    const child = fork(HOST, [subject.id], {
      execArgv: [...(subject.nodeOptions ?? [])],
      env: { ...process.env, ...subject.environment },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const started = new SubjectProcess(subject, child);
    try {
      await started.call('open', options);
    } catch (error) {
      await started.stop();
      throw error;
    }
    return started;
  }

  /** REQUIRES: the call before has been answered. */
  call<Name extends CallName>(
    name: Name,
    ...request: Parameters<Calls[Name]>
  ): Promise<ReturnType<Calls[Name]>> {
    return new Promise((resolve, reject) => {
      const hear = (reply: Reply): void => {
        if (reply.error === undefined) resolve(reply.result as ReturnType<Calls[Name]>);
        else reject(new Error(`${this.subject.title}, ${name}: ${reply.error}`));
      };
      this.#child.once('message', hear);
      void this.#ended.then((end) => {
        reject(new Error(`the process of ${this.subject.title} ended during ${name}: ${end}`));
      });
      this.#child.send({ name, request: request[0] }, (error) => {
        if (error !== null) reject(error);
      });
    });
  }

  /** Closes the subject and waits for its process to end. */
  async close(): Promise<void> {
    try {
      await this.call('close');
    } finally {
      await this.stop();
    }
  }

  /** Ends the process, whatever it is doing. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 5000);
    await this.#ended;
    clearTimeout(late);
  }
}
