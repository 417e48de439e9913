import type { IncomingMessage } from 'node:http';

/** Where a request wants to go, as two servers can only understand it one way. */
export interface Target {
  readonly host: string;
  readonly path: string;
}

// RFC 3986's authority without user information, which has no business in a Host header.
const HOST = /^(?:[A-Za-z0-9._~!$&'()*+,;=%-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
const ABSOLUTE = /^http:\/\/([^/?#]*)([^#]*)$/i;

/**
 * Undefined where there is more than one reading: no Host or several, one that is none, or a target that is neither a path, nor `*`, nor an
 * absolute http URL, whose host then counts (RFC 9112, 3.2.2).
 */
export function targetOf(request: IncomingMessage): Target | undefined {
  const { url = '', rawHeaders } = request;
  const hosts: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === 'host') hosts.push(rawHeaders[at + 1] as string);
  }
  // HTTP/1.0 has none.
  const given = hosts.length === 0 && request.httpVersion === '1.0' ? 'localhost' : hosts[0];
  if (given === undefined || hosts.length > 1 || !HOST.test(given)) return undefined;
  if (url.startsWith('/') || (url === '*' && request.method === 'OPTIONS')) return { host: given, path: url };
  const [, host, rest = ''] = ABSOLUTE.exec(url) ?? [];
  if (host === undefined || !HOST.test(host)) return undefined;
  return { host, path: rest.startsWith('/') ? rest : `/${rest}` };
}
