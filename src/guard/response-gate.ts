import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ResponseFacts } from '../seclang/request.js';

/** What goes out in the response's place; undefined: the response itself. */
export type Replacement = (() => void) | undefined;

type Method = 'writeHead' | 'write' | 'end' | 'flushHeaders';
type Arguments = readonly unknown[];
type Methods = Readonly<Record<Method, (...args: Arguments) => unknown>>;

/**
 * Stands between an application and its response: before the first byte goes out it shows the head to `judge`. While the verdict is
 * awaited it keeps what the application writes, and tells it to wait as a full stream does; what belongs to a response that was
 * replaced it drops.
 */
export function guardHead(response: ServerResponse, judge: Judge): void {
  new ResponseGate(response, judge).close();
}

type Judge = (head: ResponseFacts) => Replacement | Promise<Replacement>;

class ResponseGate {
  readonly #response: ServerResponse;
  readonly #judge: Judge;
  readonly #original: Methods;
  #state: 'closed' | 'waiting' | 'open' | 'replaced' = 'closed';
  #waiting: (readonly [Method, Arguments])[] = [];

  constructor(response: ServerResponse, judge: Judge) {
    this.#response = response;
    this.#judge = judge;
    const { writeHead, write, end, flushHeaders } = response;
    this.#original = { writeHead, write, end, flushHeaders } as Methods;
  }

  close(): void {
    const through =
      (method: Method) =>
      (...args: Arguments): unknown =>
        this.#call(method, args);
    Object.assign(this.#response, {
      writeHead: through('writeHead'),
      write: through('write'),
      end: through('end'),
      flushHeaders: through('flushHeaders'),
    });
  }

  #call(method: Method, args: Arguments): unknown {
    if (this.#state === 'closed' && !isInformational(method, args)) this.#open(method, args);
    switch (this.#state) {
      case 'waiting':
        this.#waiting.push([method, args]);
        return method === 'write' ? false : this.#response;
      case 'replaced':
        callBack(args);
        return method === 'write' ? true : this.#response;
      default:
        return this.#original[method].apply(this.#response, [...args]);
    }
  }

  #open(method: Method, args: Arguments): void {
    const verdict = this.#judge(headOf(this.#response, method === 'writeHead' ? args : []));
    if (verdict instanceof Promise) {
      this.#state = 'waiting';
      void verdict.then((late) => this.#release(late));
    } else {
      this.#settle(verdict);
    }
  }

  #settle(replacement: Replacement): void {
    this.#state = 'open';
    if (replacement === undefined) return;
    replacement();
    this.#state = 'replaced';
  }

  #release(replacement: Replacement): void {
    this.#settle(replacement);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const [method, args] of waiting) {
      // Whoever asked `headersSent` meanwhile was told no, and may have begun a second answer.
      if ((method === 'writeHead' || method === 'flushHeaders') && this.#response.headersSent) continue;
      this.#call(method, args);
    }
    if (!this.#response.writableEnded) this.#response.emit('drain');
  }
}

/** 100 to 199 come before the head, and are none. */
function isInformational(method: Method, [status]: Arguments): boolean {
  return method === 'writeHead' && typeof status === 'number' && status >= 100 && status < 200;
}

function callBack(args: Arguments): void {
  const callback = args.at(-1);
  if (typeof callback === 'function') process.nextTick(callback as () => void);
}

/** Status and headers as they would go out: those that were set, and those given to writeHead over them. */
function headOf(response: ServerResponse, args: Arguments): ResponseFacts {
  const [status = response.statusCode, ...rest] = args;
  const given = (typeof rest[0] === 'string' ? rest[1] : rest[0]) as
    | OutgoingHttpHeaders
    | readonly OutgoingHttpHeader[]
    | undefined;
  const headers = new Map<string, [string, OutgoingHttpHeader]>();
  const note = (name: string, value: OutgoingHttpHeader | undefined) => {
    if (value !== undefined) headers.set(name.toLowerCase(), [name, value]);
  };
  for (const [name, value] of Object.entries(response.getHeaders())) note(name, value);
  const pairs: [string, string][] = [];
  if (Array.isArray(given)) {
    // Flat as rawHeaders is, or pairs: as in rawHeaders, a name may come again.
    const flat = given.flat() as OutgoingHttpHeader[];
    for (let at = 0; at + 1 < flat.length; at += 2) pairs.push([String(flat[at]), String(flat[at + 1])]);
    for (const [name] of pairs) headers.delete(name.toLowerCase());
  } else {
    for (const [name, value] of Object.entries(given ?? {})) note(name, value);
  }
  for (const [name, value] of headers.values()) {
    for (const each of Array.isArray(value) ? value : [value]) pairs.push([name, String(each)]);
  }
  // As writeHead takes it.
  return { status: Number(status) | 0, headers: pairs };
}
