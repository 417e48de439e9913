import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openLmdb } from '../backend/lmdb/open-lmdb.js';
import { openMemory } from '../backend/memory/memory.js';
import { openSharedMemory } from '../backend/shared-memory/shared-memory.js';
import { Collections } from '../collections/collections.js';
import type { Backend } from '../contract/backend.js';
import { WafStateError } from '../contract/errors.js';
import { guard } from '../guard/guard.js';
import { TrustedProxies } from '../guard/trusted-proxies.js';
import { loadRules } from '../seclang/index.js';
import { type Arguments, type CommandSpec, EXIT, UsageError } from './arguments.js';
import { adminServer } from './proxy/admin.js';
import { Tunnels } from './proxy/tunnel.js';
import { Upstream } from './proxy/upstream.js';

export const GUARD: CommandSpec = {
  name: 'guard',
  summary: 'Puts SecLang rules in front of an HTTP server, as a reverse proxy.',
  operands: [],
  options: {
    rules: { type: 'text', placeholder: 'FILE', help: 'the rules; they may Include others' },
    upstream: { type: 'text', placeholder: 'URL', help: 'the server behind, such as http://127.0.0.1:3000' },
    listen: {
      type: 'text',
      placeholder: 'ADDR',
      initial: '127.0.0.1:8080',
      help: 'where to listen, host:port',
    },
    'admin-port': {
      type: 'integer',
      placeholder: 'PORT',
      initial: 9464,
      most: 65_535,
      help: 'port on 127.0.0.1 of /healthz and /metrics; 0 takes any',
    },
    engine: {
      type: 'choice',
      choices: ['lmdb', 'memory', 'shared-memory'],
      initial: 'lmdb',
      help: 'where the state is kept',
    },
    path: { type: 'text', placeholder: 'DIR', initial: './state', help: 'directory of the LMDB state' },
    'trusted-proxies': {
      type: 'text',
      placeholder: 'LIST',
      help: 'addresses and networks, with commas, whose X-Forwarded-For is believed',
    },
    'ipv6-prefix': {
      type: 'integer',
      placeholder: 'BITS',
      initial: 64,
      least: 1,
      most: 128,
      help: 'IPv6 clients are one by this prefix',
    },
    flush: {
      type: 'choice',
      choices: ['after', 'before'],
      initial: 'after',
      help: 'store the state of a request after or before its response',
    },
    'fail-open': { type: 'flag', help: 'let requests pass while the engine fails, instead of 503' },
    skip: { type: 'flag', help: 'leave out rules that are not supported, with a warning' },
    grace: {
      type: 'integer',
      placeholder: 'SECONDS',
      initial: 10,
      most: 3600,
      help: 'how long requests may go on after SIGTERM',
    },
  },
  notes: `Requests and responses stream; forms are read first. WebSockets pass, other upgrades do not. Events go to standard error, one JSON
object a line, without anything that a client sent but its address. SIGTERM ends it: no new requests, then those that run,
then what is to be stored.

  wafstate guard --rules login.conf --upstream http://127.0.0.1:3000
  wafstate guard --rules crs.conf --upstream http://10.0.0.5 --listen 0.0.0.0:80 --trusted-proxies 10.0.0.0/8`,
};

export async function runGuard(args: Arguments): Promise<number> {
  const file = needed(args, 'rules');
  const url = upstreamUrl(needed(args, 'upstream'));
  const listen = listenAddress(args.text('listen') as string);
  const proxies = new TrustedProxies(trustedList(args));
  const rules = loadRules(file, { unsupported: args.flag('skip') ? 'skip' : 'error' });
  for (const { message } of rules.warnings) process.stderr.write(`wafstate: ${message}\n`);
  const backend = await open(args.text('engine') as string, args.text('path') as string);
  try {
    const collections = new Collections({
      backend,
      failurePolicy: args.flag('fail-open') ? 'fail_open' : 'fail_closed',
      ...rules.collectionOptions,
    });
    const guarding = guard({
      collections,
      rules,
      flush: args.text('flush') as 'after' | 'before',
      trustedProxies: trustedList(args),
      ipv6Prefix: args.integer('ipv6-prefix'),
      log: (event) => process.stderr.write(`${JSON.stringify(event)}\n`),
    });
    const upstream = new Upstream(url, (request) => proxies.trusts(request));
    const tunnels = new Tunnels(upstream);
    const server = createServer(guarding.handler((request, response) => upstream.forward(request, response)));
    server.on(
      'upgrade',
      guarding.upgradeHandler((request, socket, head) => tunnels.open(request, socket, head)),
    );
    const stopped = stopSignal();
    const admin = adminServer({
      isHealthy: () => server.listening && isReadable(collections),
      counters: () => guarding.counters(),
      upstreamFailures: () => upstream.failures,
      diagnostics: () => rules.diagnostics.snapshot(),
    });
    await listening(admin, { host: '127.0.0.1', port: args.integer('admin-port') as number });
    await listening(server, listen);
    announce(args, {
      listening: addressOf(server),
      admin: addressOf(admin),
      upstream: url.origin,
      rules: rules.size,
      warnings: rules.warnings.length,
    });

    await stopped;
    await finish(server, tunnels, (args.integer('grace') as number) * 1000);
    await guarding.drain();
    upstream.close();
    admin.closeAllConnections();
    admin.close();
  } finally {
    await backend.close();
  }
  return EXIT.success;
}

async function open(engine: string, path: string): Promise<Backend> {
  if (engine === 'memory') return openMemory();
  if (engine === 'shared-memory') return openSharedMemory({ name: 'guard' });
  return openLmdb({ path });
}

async function listening(server: Server, address: { host: string; port: number }): Promise<void> {
  server.listen(address);
  await once(server, 'listening');
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
}

/** No new connections; those that are idle close at once, the others after their request or when the time is over. */
async function finish(server: Server, tunnels: Tunnels, milliseconds: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  tunnels.close();
  const late = setTimeout(() => server.closeAllConnections(), milliseconds);
  await closed;
  clearTimeout(late);
}

/** A look at one record, which need not be there. */
function isReadable(collections: Collections): boolean {
  using transaction = collections.begin();
  try {
    transaction.bindSync('global', 'health');
  } catch (error) {
    if (error instanceof WafStateError) return false;
    throw error;
  }
  return transaction.lastPersistentFailure() === undefined;
}

function announce(args: Arguments, started: Readonly<Record<string, string | number>>): void {
  const { listening, admin, upstream, rules } = started;
  process.stdout.write(
    args.flag('json')
      ? `${JSON.stringify(started)}\n`
      : `guarding ${upstream} with ${rules} rules on http://${listening}; health and metrics on http://${admin}\n`,
  );
}

function addressOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`;
}

function needed(args: Arguments, name: string): string {
  const value = args.text(name);
  if (value === undefined) throw new UsageError(`'wafstate guard' needs --${name}`);
  return value;
}

function trustedList(args: Arguments): string[] {
  return (args.text('trusted-proxies') ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function upstreamUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url === undefined ||
    (url.protocol !== 'http:' && url.protocol !== 'https:') ||
    url.href !== `${url.origin}/`
  ) {
    throw new UsageError(
      `--upstream is an origin such as http://127.0.0.1:3000, without a path, got '${text}'`,
    );
  }
  return url;
}

function listenAddress(text: string): { host: string; port: number } {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new UsageError(`--listen is host:port, such as 127.0.0.1:8080 or [::]:80, got '${text}'`);
  }
  return { host: match[1] ?? (match[2] === '' ? '::' : (match[2] as string)), port };
}
