import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { ask, closeAfterwards, FORM, rawConnection, rest, serveHttp } from '../guard/servers.js';
import { startGuard } from './guard.js';
import { wafstate } from './program.js';

const RULES = `
SecAction "id:1,phase:1,nolog,pass,initcol:ip=%{REMOTE_ADDR}"
SecRule IP:blocked "@eq 1" "id:2,phase:1,deny,status:429,msg:'blocked'"
SecRule ARGS:attack "@streq yes" "id:3,phase:2,deny"
SecRule RESPONSE_STATUS "@streq 401" "id:4,phase:5,nolog,pass,setvar:ip.blocked=1,expirevar:ip.blocked=3600"
`;

/** A server that answers whatever comes, and keeps the heads that it was sent. */
async function upstream(answer: RequestListener = (_request, response) => response.end('app')) {
  const heads: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    heads.push(request);
    answer(request, response);
  });
  const port = await serveHttp(server);
  return { port, heads, server };
}

describe('wafstate guard', () => {
  test('judges, and passes on what no rule refuses', async () => {
    const { port: behind, heads } = await upstream(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      response.statusCode = request.url === '/login' ? 401 : 200;
      response.setHeader('set-cookie', ['a=1', 'b=2']);
      response.end(`app:${body}`);
    });
    const { port, events, stop } = await startGuard(RULES, behind);
    const passed = await ask(port, '/page?a=1', { method: 'POST', headers: FORM, body: ['a=', '1'] });
    expect(passed).toMatchObject({ status: 200, body: 'app:a=1', headers: { 'set-cookie': ['a=1', 'b=2'] } });
    expect((await ask(port, '/', { method: 'POST', headers: FORM, body: 'attack=yes' })).status).toBe(403);
    expect((await ask(port, '/login')).status).toBe(401);
    expect((await ask(port, '/', { from: '127.0.0.7' })).status).toBe(200);
    for (let reply = await ask(port, '/'); reply.status !== 429; reply = await ask(port, '/'));
    expect(heads.map(({ url }) => url)).not.toContain('/?attack=yes');
    expect(await stop()).toBe(0);
    expect(
      events.map((line) => JSON.parse(line) as { type: string }).every(({ type }) => type === 'decision'),
    ).toBe(true);
  });

  test('streams both ways, over connections that are kept', async () => {
    const sockets = new Set<Socket>();
    const { port: behind } = await upstream((request, response) => {
      sockets.add(request.socket);
      request.on('data', (chunk) => response.write(chunk));
      request.on('end', () => response.end());
    });
    const { port } = await startGuard(RULES, behind);
    const socket = await rawConnection(port);
    for (let round = 0; round < 3; round++) {
      socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n');
      await until(socket, 'half');
      socket.write('4\r\nrest\r\n0\r\n\r\n');
      await until(socket, '0\r\n\r\n');
    }
    expect(sockets.size).toBe(1);
  });

  test('takes what is said of one connection off, and says of the client what it saw itself', async () => {
    const { port: behind, heads } = await upstream((_request, response) => {
      response.writeHead(200, [
        'Connection',
        'X-Inner',
        'X-Inner',
        '1',
        'X-Outer',
        '1',
        'Keep-Alive',
        'timeout=9',
      ]);
      response.end();
    });
    const { port } = await startGuard(RULES, behind);
    const headers = {
      connection: 'keep-alive, X-Private',
      'x-private': '1',
      'proxy-authorization': 'secret',
      te: 'trailers',
      'x-forwarded-for': '198.51.100.1',
      'x-real-ip': '198.51.100.1',
      forwarded: 'for=198.51.100.1',
      cookie: 'a=1',
      host: 'shop.example',
    };
    const reply = await ask(port, '/', { headers });
    expect(reply.headers).toMatchObject({ 'x-outer': '1' });
    expect(reply.headers).not.toHaveProperty('x-inner');
    expect(heads[0]?.headers).toMatchObject({
      host: 'shop.example',
      cookie: 'a=1',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': 'shop.example',
      'x-forwarded-proto': 'http',
    });
    for (const name of ['x-private', 'proxy-authorization', 'te', 'x-real-ip', 'forwarded']) {
      expect(heads[0]?.headers).not.toHaveProperty(name);
    }
  });

  test('believes a proxy that it trusts', async () => {
    const { port: behind, heads } = await upstream((_request, response) => response.writeHead(401).end());
    const { port } = await startGuard(RULES, behind, ['--trusted-proxies', '127.0.0.1', '--flush', 'before']);
    const from = (address: string) => ask(port, '/', { headers: { 'x-forwarded-for': address } });
    expect((await from('198.51.100.1')).status).toBe(401);
    expect((await from('198.51.100.1')).status).toBe(429);
    expect((await from('198.51.100.1, 198.51.100.2')).status).toBe(401);
    expect(heads.map(({ headers }) => headers['x-forwarded-for'])).toEqual([
      '198.51.100.1, 127.0.0.1',
      '198.51.100.1, 198.51.100.2, 127.0.0.1',
    ]);
  });

  test('answers 502 for an upstream that is not there, and breaks off where that does', async () => {
    const { port: behind, server } = await upstream((_request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('part');
      setTimeout(() => response.destroy(), 30);
    });
    const { port } = await startGuard(RULES, behind);
    await expect(ask(port, '/')).rejects.toThrow(/aborted/);
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
    expect((await ask(port, '/')).status).toBe(502);
    server.listen(behind, '127.0.0.1');
    await once(server, 'listening');
  });

  test('tells its health and its counts on a port of its own', async () => {
    const { port: behind } = await upstream();
    const { port, adminPort } = await startGuard(RULES, behind);
    await ask(port, '/');
    await ask(port, '/?attack=yes');
    expect(await ask(adminPort, '/healthz')).toMatchObject({ status: 200, body: 'ok\n' });
    const { headers, body } = await ask(adminPort, '/metrics');
    expect(headers['content-type']).toContain('version=0.0.4');
    expect(body).toContain('# TYPE wafstate_guard_requests_total counter\nwafstate_guard_requests_total 2\n');
    expect(body).toContain('wafstate_guard_refusals_total{action="deny"} 1\n');
    expect(body).toContain('wafstate_seclang_diagnostics_total{reason="droppedByLimit"} 0\n');
    expect((await ask(adminPort, '/other')).status).toBe(404);
    expect((await ask(port, '/metrics')).body).toBe('app');
  });

  test('lets the requests that run end after SIGTERM, and takes no more', async () => {
    let finish: () => void = () => undefined;
    const { port: behind } = await upstream((request, response) => {
      if (request.url !== '/slow') {
        response.end();
        return;
      }
      response.write('begun ');
      finish = () => response.end('ended');
    });
    const { port, stop } = await startGuard(RULES, behind);
    const socket = await rawConnection(port);
    socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(socket, 'begun');
    const stopped = stop();
    for (;;) {
      const refused = await ask(port, '/').then(
        () => false,
        (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
      );
      if (refused) break;
    }
    finish();
    expect(await rest(socket)).toContain('ended');
    expect(await stopped).toBe(0);
  });
});

describe('WebSockets', () => {
  async function sockets() {
    const server = createServer((_request, response) => response.end('app'));
    const accepting = new WebSocketServer({ noServer: true });
    server.on('upgrade', (request, socket, head) => {
      if (request.url === '/no') {
        socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno');
        return;
      }
      accepting.handleUpgrade(request, socket, head, (connected) => {
        connected.on('message', (data) => connected.send(`echo ${data}`));
      });
    });
    return serveHttp(server);
  }

  test('pass through, meet the rules, and end with the guard', async () => {
    const { port, stop } = await startGuard(RULES, await sockets());
    const socket = new WebSocket(`ws://127.0.0.1:${port}/?a=1`);
    await once(socket, 'open');
    const large = 'x'.repeat(200_000);
    for (const text of ['hello', large]) {
      socket.send(text);
      const [data] = (await once(socket, 'message')) as [Buffer];
      expect(data.toString()).toBe(`echo ${text}`);
    }
    for (const [path, status] of [
      ['/?attack=yes', 403],
      ['/no', 401],
    ] as const) {
      const refused = new WebSocket(`ws://127.0.0.1:${port}${path}`);
      refused.on('error', () => refused.terminate());
      const [, response] = await once(refused, 'unexpected-response');
      expect(response.statusCode).toBe(status);
      refused.terminate();
    }
    const closed = once(socket, 'close');
    expect(await stop()).toBe(0);
    await closed;
  });

  test.each([
    [
      'h2c',
      'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n',
    ],
    ['a WebSocket with a body', 'Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n'],
    ['two protocols', 'Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n'],
  ])('%s does not', async (_what, head) => {
    const { port: behind, heads } = await upstream();
    const { port } = await startGuard(RULES, behind);
    const socket = await rawConnection(port);
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\n${head}\r\n`);
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 400 /);
    expect(heads).toEqual([]);
  });
});

describe('a request that two servers might read differently', () => {
  const INNER = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';

  const FRAMINGS: readonly (readonly [what: string, head: string])[] = [
    [
      'length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'chunks and length',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n',
    ],
    [
      'two lengths',
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: ${INNER.length}\r\n\r\n`,
    ],
    ['a list of lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0, 0\r\n\r\n'],
    ['a length with a sign', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +0\r\n\r\n'],
    ['a length in hexadecimal', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x0\r\n\r\n'],
    ['an unknown coding', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
    [
      'a coding after chunked',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
    ],
    [
      'a blank before the colon',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a folded line', 'POST / HTTP/1.1\r\nHost: a\r\nX: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a bare line feed', 'POST / HTTP/1.1\r\nHost: a\r\nX: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n'],
    [
      'a chunk size with a sign',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n',
    ],
  ];

  test('by its framing: the one behind never sees what hides in it', async () => {
    const seen: string[] = [];
    // The crudest server there is: it would take anything.
    const crude = createTcpServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.on('data', (chunk) => {
        seen.push(chunk.toString('latin1'));
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      });
    });
    crude.listen(0, '127.0.0.1');
    await once(crude, 'listening');
    closeAfterwards(async () => {
      crude.close();
    });
    const { port } = await startGuard('SecRuleEngine On', (crude.address() as { port: number }).port);
    for (const [what, head] of FRAMINGS) {
      seen.length = 0;
      const socket = await rawConnection(port);
      socket.write(`${head}${INNER}`);
      expect(await rest(socket), what).toMatch(/^HTTP\/1\.1 400 /);
      // What came before the fault may have begun; nothing that hides in it may arrive as a request of its own.
      expect(seen.join(''), what).not.toMatch(/^GET \/smuggled/m);
    }
  });

  const TARGETS: readonly (readonly [what: string, head: string])[] = [
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\nX: a\r\n\r\n'],
    ['a host with a path', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n'],
    ['a host with a user', 'GET / HTTP/1.1\r\nHost: user@a\r\n\r\n'],
    ['a target of another scheme', 'GET ftp://b/ HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a target that is no path', 'GET b HTTP/1.1\r\nHost: a\r\n\r\n'],
  ];

  test('by its target: it is a 400, and the one behind sees nothing', async () => {
    const { port: behind, heads } = await upstream();
    const { port } = await startGuard('SecRuleEngine On', behind);
    for (const [what, head] of TARGETS) {
      const socket = await rawConnection(port);
      socket.write(head);
      expect(await rest(socket), what).toMatch(/^HTTP\/1\.1 400 /);
    }
    expect(heads).toEqual([]);
  });

  test('an absolute target is for its own host, whatever Host says', async () => {
    const { port: behind, heads } = await upstream();
    const { port } = await startGuard('SecRuleEngine On', behind);
    const socket = await rawConnection(port);
    socket.write('GET http://shop.example:8000/a?b HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n');
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 200 /);
    expect(heads[0]).toMatchObject({ url: '/a?b', headers: { host: 'shop.example:8000' } });
  });
});

describe('the command line', () => {
  test.each([
    [[], '--rules'],
    [['--upstream', 'http://a'], '--rules'],
    [['--rules', 'x', '--upstream', 'http://a/path'], 'without a path'],
    [['--rules', 'x', '--upstream', 'ftp://a'], 'an origin'],
    [['--rules', 'x', '--upstream', 'http://a', '--listen', '8080'], 'host:port'],
  ])('%j is wrong', (argv, message) => {
    const run = wafstate(['guard', ...argv]);
    expect(run.status).toBe(2);
    expect(run.stderr).toContain(message);
  });

  test('rules that are not there, and networks that are none, end it with status 3', () => {
    const run = wafstate(['guard', '--rules', 'nowhere.conf', '--upstream', 'http://a', '--json']);
    expect(run.status).toBe(3);
    expect(JSON.parse(run.stdout)).toMatchObject({ error: { code: 'invalid_option' } });
    expect(
      wafstate(['guard', '--rules', 'x', '--upstream', 'http://a', '--trusted-proxies', 'x']).status,
    ).toBe(3);
  });

  test('explains itself', () => {
    expect(wafstate(['guard', '--help']).stdout).toContain('--trusted-proxies LIST');
  });
});

async function until(socket: Socket, text: string): Promise<void> {
  let seen = '';
  while (!seen.includes(text)) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    seen += chunk.toString('latin1');
  }
}
