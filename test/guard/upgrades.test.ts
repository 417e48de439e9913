import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import { Collections } from 'wafstate';
import { type GuardOptions, guard } from 'wafstate/guard';
import { compileRules } from 'wafstate/seclang';
import { WebSocket, WebSocketServer } from 'ws';
import { FailingBackend } from './failing-backend.js';
import { closeAfterwards, rawConnection, rest, serveHttp } from './servers.js';

const RULES = `
SecAction "id:1,phase:1,nolog,pass,initcol:ip=%{REMOTE_ADDR}"
SecRule IP:upgrades "@ge 2" "id:2,phase:1,nolog,deny,status:429"
SecRule ARGS:drop "." "id:3,phase:1,nolog,drop"
SecRule RESPONSE_STATUS "@streq 101" "id:4,phase:5,nolog,pass,setvar:ip.upgrades=+1"
`;

async function guarded(backend = new FailingBackend(), options: Partial<GuardOptions> = {}) {
  closeAfterwards(() => backend.close());
  const rules = compileRules(RULES);
  const collections = new Collections({ backend, ...rules.collectionOptions });
  const guarding = guard({ collections, rules, ...options });
  const sockets = new WebSocketServer({ noServer: true });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(`echo ${data}`)));
  const server = createServer();
  server.on(
    'upgrade',
    guarding.upgradeHandler((request, socket, head) => {
      sockets.handleUpgrade(request, socket, head, (connected) =>
        sockets.emit('connection', connected, request),
      );
    }),
  );
  const port = await serveHttp(server);
  closeAfterwards(async () => {
    for (const client of sockets.clients) client.terminate();
  });
  return { guarding, port, backend };
}

async function talk(port: number): Promise<string> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
  await once(socket, 'open');
  socket.send('hello');
  const [data] = (await once(socket, 'message')) as [Buffer];
  socket.terminate();
  return data.toString();
}

async function refused(port: number, path = '/'): Promise<number> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`);
  const [, response] = await once(socket, 'unexpected-response');
  socket.on('error', () => socket.terminate());
  socket.terminate();
  return response.statusCode;
}

const HEAD =
  'HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';

describe.each(['after', 'before'] as const)('upgrades, flushed %s', (flush) => {
  test('a WebSocket is let through, counted when it begins, and refused by the count', async () => {
    const { guarding, port } = await guarded(new FailingBackend(), { flush });
    expect(await talk(port)).toBe('echo hello');
    expect(await talk(port)).toBe('echo hello');
    await guarding.drain();
    expect(await refused(port)).toBe(429);
    expect(guarding.counters()).toMatchObject({ requests: 3, denied: 1 });
  });

  test('a dropped one gets no answer', async () => {
    const { port } = await guarded(new FailingBackend(), { flush });
    const socket = await rawConnection(port);
    socket.write(`GET /?drop=1 ${HEAD}`);
    expect(await rest(socket)).toBe('');
  });

  test('where the engine is down it is a 503', async () => {
    const backend = new FailingBackend();
    const { port } = await guarded(backend, { flush });
    backend.loads = 'unavailable';
    const socket = await rawConnection(port);
    socket.write(`GET / ${HEAD}`);
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n[\s\S]*Retry-After: 1\r\n/);
  });

  test('one that is given up at once takes nothing down', async () => {
    const { guarding, port } = await guarded(new FailingBackend(), { flush });
    for (let round = 0; round < 20; round++) {
      const socket = await rawConnection(port);
      socket.write(`GET / ${HEAD}`);
      socket.resetAndDestroy();
    }
    await guarding.drain();
    expect((await rest(await talkRaw(port))).startsWith('HTTP/1.1 ')).toBe(true);
  });
});

async function talkRaw(port: number) {
  const socket = await rawConnection(port);
  socket.write(`GET / ${HEAD}`);
  socket.once('data', () => setImmediate(() => socket.end()));
  return socket;
}
