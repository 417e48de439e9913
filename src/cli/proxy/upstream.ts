import {
  Agent,
  type ClientRequest,
  type IncomingMessage,
  request as requestHttp,
  type ServerResponse,
} from 'node:http';
import { request as requestHttps, Agent as SecureAgent } from 'node:https';
import { pipeline } from 'node:stream';
import { hasBody, sendAnswer } from '../../guard/answer.js';
import { requestHeaders, responseHeaders } from './forwarded-headers.js';
import { targetOf } from './request-target.js';

/** An upstream that sends no head of a response for so long is not going to. */
const HEAD_TIMEOUT_MS = 60_000;

/** The server behind the proxy, over connections that are kept. */
export class Upstream {
  readonly url: URL;
  readonly #agent: Agent;
  readonly #isTrusted: (request: IncomingMessage) => boolean;
  /** Requests that it did not answer. */
  failures = 0;

  constructor(url: URL, isTrusted: (request: IncomingMessage) => boolean) {
    this.url = url;
    this.#isTrusted = isTrusted;
    this.#agent = new (url.protocol === 'https:' ? SecureAgent : Agent)({ keepAlive: true });
  }

  close(): void {
    this.#agent.destroy();
  }

  /**
   * Begins the same request upstream, its head and not its body. Undefined where it can be read in more than one way: that must not
   * travel on. `upgrade`: the protocol that the request changes to.
   */
  begin(request: IncomingMessage, upgrade?: string): ClientRequest | undefined {
    const target = targetOf(request);
    if (target === undefined) return undefined;
    const headers = requestHeaders(request, target.host, this.#isTrusted(request));
    if (upgrade !== undefined) headers.push('Connection', 'Upgrade', 'Upgrade', upgrade);
    const send = this.url.protocol === 'https:' ? requestHttps : requestHttp;
    const sent = unlessInvalid(() =>
      send({
        protocol: this.url.protocol,
        // An IPv6 address stands in brackets in a URL and nowhere else.
        hostname: this.url.hostname.replace(/^\[|\]$/g, ''),
        port: this.url.port,
        method: request.method,
        path: target.path,
        headers,
        agent: this.#agent,
      }),
    );
    if (sent === undefined) return undefined;
    sent.setTimeout(HEAD_TIMEOUT_MS, () => sent.destroy(new UpstreamTimeout()));
    sent.once('response', () => sent.setTimeout(0));
    sent.once('upgrade', () => sent.setTimeout(0));
    return sent;
  }

  /** Streams the request there and the response back. An end that comes too early on one side ends the other the same way. */
  forward(request: IncomingMessage, response: ServerResponse, isRetry = false): void {
    const sent = this.begin(request);
    if (sent === undefined) {
      sendAnswer({ status: 400 }, request, response);
      return;
    }
    const withBody = hasBody(request);
    sent.once('response', (received) => {
      const { statusCode = 502, statusMessage } = received;
      const begun = unlessInvalid(() =>
        response.writeHead(statusCode, statusMessage, responseHeaders(received)),
      );
      if (begun === undefined) {
        sent.destroy(new Error('the upstream sent a head that may not be sent on'));
        return;
      }
      // Its callback tells of ends that came too early; both sides are closed by then, and nobody is left to tell.
      pipeline(received, response, () => undefined);
    });
    sent.once('error', (error: NodeJS.ErrnoException) => {
      if (response.headersSent || response.destroyed) {
        response.destroy();
        return;
      }
      // The upstream closed a kept connection as this request was put on it: nobody has read it.
      if (
        sent.reusedSocket &&
        error.code === 'ECONNRESET' &&
        !withBody &&
        !isRetry &&
        isIdempotent(request)
      ) {
        this.forward(request, response, true);
        return;
      }
      this.failures++;
      sendAnswer({ status: statusOf(error) }, request, response);
    });
    response.once('close', () => {
      if (!response.writableFinished) sent.destroy();
    });
    if (withBody) {
      pipeline(request, sent, () => undefined);
    } else {
      sent.end();
    }
  }
}

/** The parser lets a few characters in that node:http does not send: undefined for a head that holds one. */
function unlessInvalid<T>(send: () => T): T | undefined {
  try {
    return send();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (
      code !== 'ERR_INVALID_CHAR' &&
      code !== 'ERR_UNESCAPED_CHARACTERS' &&
      code !== 'ERR_HTTP_INVALID_STATUS_CODE'
    )
      throw error;
    return undefined;
  }
}

export class UpstreamTimeout extends Error {}

export function statusOf(error: Error): number {
  return error instanceof UpstreamTimeout ? 504 : 502;
}

function isIdempotent({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}
