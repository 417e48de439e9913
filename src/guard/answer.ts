import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WafStateError } from '../contract/errors.js';

/** What the client gets instead of the application's answer. */
export interface Answer {
  /** 0: none, the connection is closed. */
  readonly status: number;
  readonly location?: string | undefined;
  /** Seconds. */
  readonly retryAfter?: number | undefined;
}

const RETRYABLE_SECONDS = 1;
/** What somebody has to mend first. */
const LASTING_SECONDS = 30;

export function unavailable({ retryable }: WafStateError): Answer {
  return { status: 503, retryAfter: retryable ? RETRYABLE_SECONDS : LASTING_SECONDS };
}

export interface AnswerText {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The answer to one request, as it goes over the wire. */
export function textOf({ status, location, retryAfter }: Answer, request: IncomingMessage): AnswerText {
  const body = `${status} ${STATUS_CODES[status] ?? 'Refused'}\n`;
  return {
    status,
    body,
    headers: {
      'Content-Type': 'text/plain; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(body)),
      'Cache-Control': 'no-store',
      ...(location !== undefined && { Location: headerValue(location) }),
      ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
      // Else the server would read on to the end of a body that nobody wants; and who sent what cannot be read sends no more.
      ...((status === 400 || (hasBody(request) && !request.complete)) && { Connection: 'close' }),
    },
  };
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** A rule may have put a client's text into a Location: no line ends, and UTF-8 as node:http takes it, one character a byte. */
function headerValue(text: string): string {
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  return bytes.replace(/[^\t\x20-\x7e\x80-\xff]/g, (byte) => encodeURIComponent(byte));
}

/** REQUIRES: no head was sent. */
export function sendAnswer(answer: Answer, request: IncomingMessage, response: ServerResponse): void {
  if (answer.status === 0) {
    request.socket.destroy();
    return;
  }
  const { status, headers, body } = textOf(answer, request);
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  response.writeHead(status, headers);
  response.end(body);
}

/** To an upgrade, which has a socket and no response. REQUIRES: somebody listens to the socket's errors. */
export function sendRawAnswer(answer: Answer, request: IncomingMessage, socket: Duplex): void {
  if (answer.status === 0) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = textOf(answer, request);
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.end(
    [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}`, ...lines, '', body].join('\r\n'),
    'latin1',
  );
}
