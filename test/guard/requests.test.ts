import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { Collections, openMemory } from 'wafstate';
import { type GuardEvent, type GuardOptions, guard } from 'wafstate/guard';
import { compileRules } from 'wafstate/seclang';
import { ask, closeAfterwards, FORM, rawConnection, rest, serveHttp } from './servers.js';

const COUNTING = `
SecAction "id:1,phase:1,nolog,pass,initcol:ip=%{REMOTE_ADDR}"
SecAction "id:2,phase:5,nolog,pass,setvar:ip.requests=+1"
`;

type Options = Omit<Partial<GuardOptions>, 'rules'> & {
  readonly rules?: string;
  readonly app?: RequestListener;
};

async function guarded({ rules: text = COUNTING, app, ...rest }: Options = {}) {
  const backend = openMemory();
  closeAfterwards(() => backend.close());
  const rules = compileRules(text);
  const collections = new Collections({ backend, ...rules.collectionOptions });
  const events: GuardEvent[] = [];
  const guarding = guard({ collections, rules, log: (event) => events.push(event), ...rest });
  const server = createServer(guarding.handler(app ?? ((_request, response) => response.end('app'))));
  const port = await serveHttp(server);
  const counted = (key: string): string | undefined => {
    using transaction = collections.begin();
    transaction.bindSync('ip', key);
    return transaction.get('ip', 'requests');
  };
  return { guarding, events, port, counted, server };
}

describe('a form', () => {
  test('over the bound is a 413, whether its length was told or not', async () => {
    const { guarding, events, port } = await guarded({ bodyLimit: 1000 });
    const told = await ask(port, '/', { method: 'POST', headers: FORM, body: 'x'.repeat(1001) });
    expect(told).toMatchObject({ status: 413, headers: { connection: 'close' } });
    const socket = await rawConnection(port);
    socket.write(
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n',
    );
    socket.write(`3e9\r\n${'x'.repeat(1001)}\r\n`);
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 413 /);
    expect((await ask(port, '/', { method: 'POST', headers: FORM, body: 'x'.repeat(1000) })).status).toBe(
      200,
    );
    await guarding.drain();
    expect(guarding.counters()).toMatchObject({ requests: 3, refusedBodies: 2, aborted: 0 });
    expect(events).toMatchObject([{ reason: 'body_too_large' }, { reason: 'body_too_large' }]);
  });

  test('that comes too slowly is a 408', async () => {
    const { port, counted } = await guarded({ bodyTimeout: 0.05 });
    const socket = await rawConnection(port);
    socket.write(
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\na',
    );
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 408 /);
    expect(counted('127.0.0.1')).toBe('1');
  });

  test('that is compressed is a 415: the application might unpack what no rule could read', async () => {
    const { port } = await guarded();
    const headers = { ...FORM, 'content-encoding': 'gzip' };
    expect((await ask(port, '/', { method: 'POST', headers, body: 'x' })).status).toBe(415);
    headers['content-encoding'] = 'identity';
    expect((await ask(port, '/', { method: 'POST', headers, body: 'x' })).status).toBe(200);
  });

  test('that somebody has read before is a 500: rules that see no body must not pass for rules that found nothing', async () => {
    const { guarding, port: unused } = await guarded();
    expect(unused).toBeGreaterThan(0);
    const handler = guarding.handler((_request, response) => response.end('app'));
    const port = await serveHttp(
      createServer(async (request, response) => {
        for await (const _chunk of request);
        handler(request, response);
      }),
    );
    expect((await ask(port, '/', { method: 'POST', headers: FORM, body: 'a=1' })).status).toBe(500);
    expect((await ask(port, '/', { method: 'POST', body: 'a=1' })).status).toBe(200);
  });

  test('that has come while somebody waited before the guard is read, and handed on', async () => {
    const { guarding } = await guarded();
    const handler = guarding.handler(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      response.end(body);
    });
    const port = await serveHttp(
      createServer((request, response) => {
        setTimeout(() => handler(request, response), 30);
      }),
    );
    const reply = await ask(port, '/', { method: 'POST', headers: FORM, body: 'a=1&b=2' });
    expect(reply).toMatchObject({ status: 200, body: 'a=1&b=2' });
  });

  test('other bodies are not waited for, and stream through', async () => {
    const { port } = await guarded({ app: (request, response) => void request.pipe(response) });
    const socket = await rawConnection(port);
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf');
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toContain('half');
    socket.write('rest');
    const [second] = (await once(socket, 'data')) as [Buffer];
    expect(second.toString()).toContain('rest');
  });
});

describe('a request that is given up', () => {
  test.each([
    [
      'before its body has come',
      'Content-Length: 10\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\na',
      false,
    ],
    ['while the application works', '\r\n', true],
  ])('%s counts all the same', async (_when, head, reachesApplication) => {
    let asked = 0;
    const { guarding, port, counted } = await guarded({
      app: () => {
        asked++;
      },
    });
    const socket = await rawConnection(port);
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${head}`);
    while (guarding.counters().requests === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    socket.destroy();
    await guarding.drain();
    expect(asked).toBe(reachesApplication ? 1 : 0);
    expect(guarding.counters().aborted).toBe(1);
    expect(counted('127.0.0.1')).toBe('1');
  });

  test('a response that never ends counts when it begins', async () => {
    const { guarding, port, counted } = await guarded({
      app: (_request, response) => void response.write('event: 1\n\n'),
    });
    const socket = await rawConnection(port);
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'data');
    await guarding.drain();
    expect(counted('127.0.0.1')).toBe('1');
  });
});

describe('a response', () => {
  test('of many chunks, awaited before its flush, arrives whole and in order', async () => {
    const chunks = Array.from({ length: 300 }, (_, index) => `${index},`.repeat(200));
    const { port } = await guarded({
      flush: 'before',
      app: (_request, response) => void Readable.from(chunks).pipe(response),
    });
    expect((await ask(port, '/')).body).toBe(chunks.join(''));
  });

  test('to HEAD has no body, and connections are kept', async () => {
    const { port } = await guarded({ rules: 'SecRule ARGS:no "." "id:1,phase:1,deny"' });
    const socket = await rawConnection(port);
    socket.write(
      'HEAD /?no=1 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    const text = await rest(socket);
    expect(text).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(2);
    expect(text).toMatch(/\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
  });

  test.each([
    ['an object', (headers: [string, string][]) => Object.fromEntries(headers)],
    ['a flat list', (headers: [string, string][]) => headers.flat()],
  ])('shows rules the headers given to writeHead as %s', async (_as, shape) => {
    const { port } = await guarded({
      rules: 'SecRule RESPONSE_HEADERS:Set-Cookie "@contains sid=" "id:1,phase:3,deny,status:500"',
      app: (_request, response) => {
        response.writeHead(200, 'Fine', shape([['Set-Cookie', 'sid=1']]));
        response.end('app');
      },
    });
    expect((await ask(port, '/')).status).toBe(500);
  });
});

describe('the log', () => {
  const SECRETS = ['c00kie', 'argval', 'bodyval', 'bearer-token', 'path-token', 'header-val', 'sess-id'];
  test('explains a decision and holds nothing that the client sent', async () => {
    const { guarding, events, port } = await guarded({
      rules: `
SecAction "id:1,phase:1,nolog,pass,initcol:ip=%{REMOTE_ADDR},setsid:%{REQUEST_COOKIES.sid}"
SecAction "id:2,phase:1,log,pass,msg:'cookie %{REQUEST_COOKIES.c}, %{SESSIONID}',logdata:'%{ARGS.a}',tag:'t/%{ARGS.a}',setvar:ip.last=%{ARGS.a},setvar:tx.copy=%{ARGS.b},setvar:ip.tries=+7"
SecRule REQUEST_HEADERS:authorization|REQUEST_HEADERS:x "@rx ." "id:3,phase:1,log,pass,msg:'%{MATCHED_VAR} %{MATCHED_VAR_NAME} %{REQUEST_URI} %{REQUEST_HEADERS.authorization}'"
SecRule ARGS_POST_NAMES "@rx ." "id:4,phase:2,log,pass,msg:'%{MATCHED_VAR} %{tx.copy} %{ip.last} %{QUERY_STRING} %{REQUEST_BODY}'"
SecRule IP:last "@rx ." "id:5,phase:2,log,pass,msg:'from %{REMOTE_ADDR} %{ENV.HOME}'"
SecRule IP:tries "@ge 5" "id:6,phase:2,chain,deny,status:429,msg:'%{ip.tries} tries by %{REMOTE_ADDR}',severity:CRITICAL"
SecRule &SESSION "@ge 0"
`,
    });
    const reply = await ask(port, '/path-token?a=argval&b=argval', {
      method: 'POST',
      headers: { ...FORM, cookie: 'c=c00kie; sid=sess-id', authorization: 'bearer-token', x: 'header-val' },
      body: 'bodyval=bodyval',
    });
    expect(reply.status).toBe(429);
    await guarding.drain();
    const text = JSON.stringify(events);
    for (const secret of SECRETS) expect(text).not.toContain(secret);
    expect(events.map(({ type }) => type)).toEqual(['match', 'match', 'match', 'match', 'decision']);
    expect(events.at(-1)).toMatchObject({
      type: 'decision',
      action: 'deny',
      status: 429,
      client: '127.0.0.1',
      method: 'POST',
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      rule: {
        id: 6,
        phase: 2,
        severity: 'CRITICAL',
        message: '%{IP.tries} tries by 127.0.0.1',
        causes: [
          { condition: 'IP:tries @ge 5', value: 7 },
          { condition: '&SESSION @ge 0', value: 0 },
        ],
      },
    });
  });
});

describe('options', () => {
  test.each([
    ['nothing', { nothing: 1 }],
    ['flush', { flush: 'never' }],
    ['trustedProxies', { trustedProxies: ['10.0.0.0/99'] }],
    ['ipv6Prefix', { ipv6Prefix: 129 }],
    ['bodyLimit', { bodyLimit: -1 }],
    ['bodyTimeout', { bodyTimeout: 0 }],
    ['log', { log: 'stdout' }],
    ['collections', { collections: undefined }],
    ['rules', { rules: 'SecAction "id:1"' }],
  ])('%s is refused where it is wrong', (option, wrong) => {
    const rules = compileRules(COUNTING);
    const collections = new Collections({ backend: openMemory({ cleanupInterval: 0 }) });
    expect(() => guard({ collections, rules, ...(wrong as object) })).toThrow(
      expect.objectContaining({ code: 'invalid_option', details: expect.objectContaining({ option }) }),
    );
  });
});
