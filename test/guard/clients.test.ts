import type { IncomingMessage } from 'node:http';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientAddress } from '../../src/guard/client-key.js';
import { TrustedProxies } from '../../src/guard/trusted-proxies.js';

function from(remoteAddress: string | undefined, forwarded?: string): IncomingMessage {
  return {
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  } as unknown as IncomingMessage;
}

describe('who the client is', () => {
  const proxies = new TrustedProxies(['10.0.0.0/8', '2001:db8:ffff::/48', '127.0.0.1']);

  test.each([
    ['a stranger without the header', '192.0.2.1', undefined, '192.0.2.1'],
    ['a stranger with a header of its own', '192.0.2.1', '198.51.100.1', '192.0.2.1'],
    ['a trusted proxy’s client', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['behind two proxies', '10.0.0.1', '198.51.100.1, 10.1.1.1', '198.51.100.1'],
    [
      'a client that forged entries before its own',
      '10.0.0.1',
      '1.1.1.1, 10.9.9.9, 198.51.100.1, 10.1.1.1',
      '198.51.100.1',
    ],
    ['a proxy that is itself the client', '10.0.0.1', undefined, '10.0.0.1'],
    ['a chain of proxies only', '10.0.0.1', '10.0.0.3,10.0.0.2', '10.0.0.3'],
    ['an entry with a port', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['an IPv6 entry with a port', '10.0.0.1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['an entry that is no address', '10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
    ['an entry that is no address behind a proxy', '10.0.0.1', '198.51.100.1, unknown, 10.0.0.2', '10.0.0.2'],
    ['an empty header', '10.0.0.1', '', '10.0.0.1'],
    ['an empty entry', '10.0.0.1', '198.51.100.1,', '10.0.0.1'],
    ['a proxy that connects by IPv4 in IPv6', '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['a proxy on IPv6', '2001:db8:ffff::1', '2001:db8::9', '2001:db8::9'],
    ['a peer on a Unix socket that is not trusted', undefined, '198.51.100.1', ''],
  ])('%s', (_who, peer, forwarded, client) => {
    expect(proxies.clientOf(from(peer, forwarded))).toBe(client);
  });

  test('a trusted peer on a Unix socket', () => {
    expect(new TrustedProxies(['unix']).clientOf(from(undefined, '198.51.100.1'))).toBe('198.51.100.1');
  });

  test('nothing that a client writes changes who it is', () => {
    fc.assert(
      fc.property(fc.string(), fc.ipV4(), (written, client) => {
        fc.pre(!client.startsWith('10.') && client !== '127.0.0.1');
        expect(proxies.clientOf(from('10.0.0.1', `${written},${client}`))).toBe(client);
        expect(proxies.clientOf(from(client, written))).toBe(client);
      }),
    );
  });

  test('two million commas take no longer than they are', () => {
    expect(proxies.clientOf(from('10.0.0.1', `${','.repeat(2e6)}10.0.0.2,10.0.0.3`))).toBe('10.0.0.2');
  });

  test('a network that is none is refused', () => {
    expect(() => new TrustedProxies(['10.0.0.0/33'])).toThrow(/entry 0 is neither/);
    expect(() => new TrustedProxies(['localhost'])).toThrow(/entry 0 is neither/);
  });
});

describe('clients of IPv6', () => {
  test.each([
    ['2001:db8:1:2:3:4:5:6', 64, '2001:db8:1:2::'],
    ['2001:db8:1:2:3:4:5:6', 128, '2001:db8:1:2:3:4:5:6'],
    ['::ffff:192.0.2.1', 64, '192.0.2.1'],
    ['192.0.2.1', 64, '192.0.2.1'],
    ['', 64, ''],
  ])('%s is by /%d %s', (address, prefix, client) => {
    expect(clientAddress(address, prefix)).toBe(client);
  });
});
