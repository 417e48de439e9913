import { isIPv4, isIPv6 } from 'node:net';

/**
 * What a client is counted under: its address without the bits that it may choose, and the prefix where there are such.
 */
export function clientKey(address: string, ipv6Prefix: number): string {
  const client = clientAddress(address, ipv6Prefix);
  return ipv6Prefix === 128 || !client.includes(':') || !isIPv6(client) ? client : `${client}/${ipv6Prefix}`;
}

/**
 * IPv4 addresses and host names stay as they are; IPv6 comes out in the canonical text of RFC 5952 with its lower bits
 * 0, since one client has a whole prefix to choose from; IPv4-mapped IPv6 is IPv4.
 */
export function clientAddress(address: string, ipv6Prefix: number): string {
  if (isIPv4(address) || !isIPv6(address)) return address.toLowerCase();
  const groups = parseGroups(address.replace(/%.*$/, ''));
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high, low] = [groups[6] as number, groups[7] as number];
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  }
  const masked = groups.map((group, index) => {
    const kept = Math.min(16, Math.max(0, ipv6Prefix - 16 * index));
    return group & (0xffff << (16 - kept)) & 0xffff;
  });
  return formatGroups(masked);
}

/** REQUIRES: `isIPv6(address)`, no zone. */
function parseGroups(address: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const text =
    dotted === null
      ? address
      : `${dotted[1]}${hex(Number(dotted[2]) * 256 + Number(dotted[3]))}:${hex(Number(dotted[4]) * 256 + Number(dotted[5]))}`;
  const [head = '', tail] = text.split('::') as [string, string | undefined];
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].map((group) => Number.parseInt(group, 16));
}

/** RFC 5952: lower case, no leading zeros, `::` for the first longest run of two or more zero groups. */
function formatGroups(groups: readonly number[]): string {
  let start = 0;
  let length = 0;
  for (let from = 0; from < 8; from++) {
    let to = from;
    while (to < 8 && groups[to] === 0) to++;
    if (to - from > length) [start, length] = [from, to - from];
  }
  if (length < 2) return groups.map(hex).join(':');
  return `${groups.slice(0, start).map(hex).join(':')}::${groups
    .slice(start + length)
    .map(hex)
    .join(':')}`;
}

function hex(group: number): string {
  return group.toString(16);
}
