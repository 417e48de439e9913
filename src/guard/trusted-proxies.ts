import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { WafStateError } from '../contract/errors.js';
import { AddressRanges } from '../seclang/address-ranges.js';

/**
 * Who the client is. Each proxy appends the peer that it saw to X-Forwarded-For, so the list is read from its end, and no further than
 * proxies are trusted: what stands before the first stranger is that stranger's own invention.
 */
export class TrustedProxies {
  readonly #ranges = new AddressRanges();
  readonly #unix: boolean;
  readonly #none: boolean;

  /** Throws `invalid_option` for what is neither an address, nor a network, nor `unix`. */
  constructor(entries: readonly string[]) {
    if (!Array.isArray(entries)) throw invalid('must be an array of addresses and networks');
    for (const [index, entry] of entries.entries()) {
      if (entry === 'unix' || (typeof entry === 'string' && this.#ranges.add(entry))) continue;
      throw invalid(
        `entry ${index} is neither an address, nor a network such as 10.0.0.0/8, nor unix; name them one by one`,
      );
    }
    this.#unix = entries.includes('unix');
    this.#none = entries.length === 0;
  }

  /** The address of the client, '' where even the peer has none, as on a Unix socket that is not trusted. */
  clientOf(request: IncomingMessage): string {
    if (!this.trusts(request)) return peerOf(request);
    let client = peerOf(request);
    for (const hop of hopsOf(request)) {
      // A trusted proxy wrote no address: then nothing before it is known either.
      if (hop === undefined) break;
      client = hop;
      if (!this.#ranges.has(hop)) break;
    }
    return client;
  }

  /** Whether the peer of the connection is a proxy that is believed. */
  trusts(request: IncomingMessage): boolean {
    if (this.#none) return false;
    const peer = peerOf(request);
    return peer === '' ? this.#unix : this.#ranges.has(peer);
  }
}

function peerOf(request: IncomingMessage): string {
  return request.socket.remoteAddress ?? '';
}

/** From the nearest to the farthest; undefined for what is no address. */
function* hopsOf(request: IncomingMessage): Generator<string | undefined> {
  const header = request.headers['x-forwarded-for'];
  // node:http joins repeated lines in their order.
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  for (let end = text.length; end > 0; ) {
    const comma = text.lastIndexOf(',', end - 1);
    yield addressOf(text.slice(comma + 1, end).trim());
    end = comma;
  }
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function addressOf(text: string): string | undefined {
  const address = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return isIP(address) === 0 ? undefined : address;
}

function invalid(requirement: string): WafStateError {
  return new WafStateError('invalid_option', `guard: trustedProxies ${requirement}`, {
    details: { option: 'trustedProxies' },
  });
}
