import { BlockList, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientKey } from '../../src/guard/client-key.js';

describe('what a client is counted under', () => {
  it.each([
    ['203.0.113.9', 128, '203.0.113.9'],
    ['Proxy.Example.NET', 128, 'proxy.example.net'],
    ['2001:DB8:0:0:0:0:0:1', 128, '2001:db8::1'],
    ['2001:db8:0:1:1:1:1:1', 128, '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', 128, '2001:0:0:1::1'],
    ['2001:db8:0:0:1:0:0:1', 128, '2001:db8::1:0:0:1'],
    ['::', 128, '::'],
    ['1::', 128, '1::'],
    ['fe80::1%eth0', 128, 'fe80::1'],
    ['::ffff:192.0.2.1', 128, '192.0.2.1'],
    ['::ffff:192.0.2.1', 64, '192.0.2.1'],
    ['::192.0.2.1', 128, '::c000:201'],
    ['2001:db8:1:2:3:4:5:6', 64, '2001:db8:1:2::/64'],
    ['2001:db8:1:2ff:3:4:5:6', 56, '2001:db8:1:200::/56'],
    ['2001:db8:ffff:ffff::', 33, '2001:db8:8000::/33'],
    ['ffff::', 1, '8000::/1'],
  ])('%s by /%d is %s', (address, prefix, key) => {
    expect(clientKey(address, prefix)).toBe(key);
  });

  it('two addresses share a key exactly when they share the prefix', () => {
    fc.assert(
      fc.property(fc.ipV6(), fc.ipV6(), fc.integer({ min: 1, max: 127 }), (a, b, prefix) => {
        fc.pre(!/^(0*:)*:?(0*:)*ffff:/i.test(a) && !/^(0*:)*:?(0*:)*ffff:/i.test(b));
        const subnet = new BlockList();
        subnet.addSubnet(a, prefix, 'ipv6');
        expect(clientKey(a, prefix) === clientKey(b, prefix)).toBe(subnet.check(b, 'ipv6'));
      }),
    );
  });

  it('the key of an IPv6 address is one, and its own key', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const key = clientKey(address, 128);
        fc.pre(!key.includes('.'));
        expect(isIPv6(key)).toBe(true);
        expect(clientKey(key, 128)).toBe(key);
      }),
    );
  });
});
