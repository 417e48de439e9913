import { gunzipSync } from 'node:zlib';

/**
 * Who goes over a limit, found the plainest way: no code of the package, no transactions, one object a client.
 * The replay of every engine must name the same blocks.
 *
 * @param {Buffer} log the bytes of an access log, plain or gzip
 * @param {{limit: number, window: number, block: number}} rule in requests and seconds
 */
export function independentCount(log, { limit, window, block }) {
  const text = (log[0] === 0x1f && log[1] === 0x8b ? gunzipSync(log) : log).toString('latin1');
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const clients = new Map();
  const blocked = [];
  let malformed = 0;
  let clock = Number.NEGATIVE_INFINITY;
  for (const line of lines) {
    const address = line.split(' ')[0];
    const stamp = line.slice(line.indexOf('[') + 1, line.indexOf(']'));
    const [date, ...time] = stamp.split(':');
    const seconds = Date.parse(`${date.replaceAll('/', ' ')} ${time.join(':')}`) / 1000;
    if (Number.isNaN(seconds)) {
      malformed++;
      continue;
    }
    clock = Math.max(clock, seconds);
    const client = clients.get(address) ?? { count: 0, windowEnd: clock, blockEnd: clock };
    clients.set(address, client);
    if (clock < client.blockEnd) continue;
    if (clock >= client.windowEnd) {
      client.count = 0;
      client.windowEnd = clock + window;
    }
    client.count++;
    if (client.count > limit) {
      client.blockEnd = clock + block;
      const iso = (moment) => new Date(moment * 1000).toISOString();
      blocked.push({ address, requests: client.count, at: iso(clock), until: iso(client.blockEnd) });
    }
  }
  return { lines: lines.length, malformed, blocked };
}
