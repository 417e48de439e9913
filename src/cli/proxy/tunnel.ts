import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { type Duplex, pipeline } from 'node:stream';
import { hasBody, sendRawAnswer } from '../../guard/answer.js';
import { responseHeaders } from './forwarded-headers.js';
import { statusOf, type Upstream } from './upstream.js';

/** WebSockets: after the upstream's 101 both sides are one pipe. */
export class Tunnels {
  readonly #upstream: Upstream;
  readonly #open = new Set<Duplex>();

  constructor(upstream: Upstream) {
    this.#upstream = upstream;
  }

  /** Ends all of them, as a server does that goes away. */
  close(): void {
    for (const socket of this.#open) socket.destroy();
  }

  /**
   * Only to websocket. Whatever else may be asked for, such as h2c, would let requests through that no rule has seen; and a body before
   * the change of protocol is two protocols' at once.
   */
  open(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#hold(socket);
    const isWebSocket = /^\s*websocket\s*$/i.test(request.headers.upgrade ?? '');
    const sent =
      isWebSocket && !hasBody(request) && request.method === 'GET'
        ? this.#upstream.begin(request, 'websocket')
        : undefined;
    if (sent === undefined) {
      sendRawAnswer({ status: 400 }, request, socket);
      return;
    }
    socket.once('close', () => sent.destroy());
    sent.once('error', (error) => {
      if (socket.destroyed) return;
      this.#upstream.failures++;
      sendRawAnswer({ status: statusOf(error) }, request, socket);
    });
    sent.once('upgrade', (received, other, otherHead) => {
      this.#hold(other);
      const headers = [...responseHeaders(received), 'Connection', 'Upgrade', 'Upgrade', 'websocket'];
      socket.write(headOf(received, headers), 'latin1');
      socket.write(otherHead);
      other.write(head);
      // An end that comes too early on one side ends the other; there is nobody to tell.
      pipeline(socket, other, socket, () => undefined);
    });
    // It will not change: its answer is an answer like others, and the last on this connection.
    sent.once('response', (received) => {
      const headers = responseHeaders(received).concat('Connection', 'close');
      socket.write(headOf(received, headers), 'latin1');
      pipeline(received, socket, () => undefined);
    });
    sent.end();
  }

  #hold(socket: Duplex): void {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    // Both are closed by the pipeline or by the request; without a listener an error would end the process.
    socket.on('error', () => socket.destroy());
  }
}

/** node:http has checked each name and value on its way in, so none holds a line end. */
function headOf({ statusCode = 502, statusMessage }: IncomingMessage, headers: readonly string[]): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage ?? STATUS_CODES[statusCode] ?? ''}`];
  for (let at = 0; at + 1 < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}
