import type { IncomingMessage } from 'node:http';

/**
 * Headers as they go on to the next hop (RFC 9110, 7.6.1): flat lists of names and values in the order received. What is said of
 * this connection stays behind, what Connection names too; how the body is framed is said anew.
 */

const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/** What only a proxy that is trusted may say of a client. */
const SAID_BY_PROXIES = new Set([
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-real-ip',
  'forwarded',
]);

function* endToEnd(message: IncomingMessage): Generator<[lower: string, name: string, value: string]> {
  const { rawHeaders } = message;
  const named = new Set(
    (message.headers.connection ?? '').split(',').map((token) => token.trim().toLowerCase()),
  );
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const lower = name.toLowerCase();
    // Framing is not the client's to take off.
    if (HOP_BY_HOP.has(lower) || (named.has(lower) && lower !== 'content-length')) continue;
    yield [lower, name, rawHeaders[at + 1] as string];
  }
}

/**
 * To the upstream. `host`: of the request target where that has one, else what the client sent. A peer that is not trusted is the
 * beginning of X-Forwarded-For, whatever it claims.
 */
export function requestHeaders(request: IncomingMessage, host: string, peerIsTrusted: boolean): string[] {
  const headers = ['Host', host];
  for (const [lower, name, value] of endToEnd(request)) {
    // Expect was answered here: the body is on its way.
    if (lower === 'host' || lower === 'expect' || lower === 'x-forwarded-for') continue;
    if (!peerIsTrusted && SAID_BY_PROXIES.has(lower)) continue;
    headers.push(name, value);
  }
  const before = peerIsTrusted ? request.headers['x-forwarded-for'] : undefined;
  const peer = request.socket.remoteAddress ?? 'unknown';
  headers.push('X-Forwarded-For', before === undefined ? peer : `${String(before)}, ${peer}`);
  const said = peerIsTrusted ? request.headers : {};
  if (said['x-forwarded-proto'] === undefined) headers.push('X-Forwarded-Proto', 'http');
  if (said['x-forwarded-host'] === undefined) headers.push('X-Forwarded-Host', host);
  if (request.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked');
  return headers;
}

/** To the client. */
export function responseHeaders(response: IncomingMessage): string[] {
  const headers: string[] = [];
  for (const [, name, value] of endToEnd(response)) headers.push(name, value);
  return headers;
}
