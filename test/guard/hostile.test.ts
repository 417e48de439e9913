import { createServer, type IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { Collections, openMemory } from 'wafstate';
import { type GuardEvent, type GuardOptions, guard } from 'wafstate/guard';
import { compileRules } from 'wafstate/seclang';
import { ask, closeAfterwards, FORM, rawConnection, rest, serveHttp } from './servers.js';

// Every rule that work can be made for: values that are matched, counted, stored, expanded and transformed.
const RULES = `
SecAction "id:1,phase:1,nolog,pass,initcol:ip=%{REMOTE_ADDR},setsid:%{REQUEST_COOKIES.sid}"
SecRule ARGS|ARGS_NAMES|REQUEST_HEADERS|REQUEST_COOKIES "@rx (a+)+b|(x|x?y)*z" "id:2,phase:2,nolog,pass,setvar:ip.hits=+1"
SecRule ARGS "@rx ." "id:3,phase:2,nolog,pass,t:urlDecodeUni,t:htmlEntityDecode,t:jsDecode,t:cssDecode,setvar:ip.%{MATCHED_VAR_NAME}=%{MATCHED_VAR}"
SecRule &ARGS "@ge 100000" "id:4,phase:2,log,msg:'%{MATCHED_VAR} arguments',deny,status:413"
SecRule REQUEST_URI "@pm attack /../ %%" "id:5,phase:1,nolog,pass,t:normalizePath,t:utf8toUnicode"
SecAction "id:6,phase:5,nolog,pass,setvar:ip.requests=+1"
`;

async function guarded(options: Partial<GuardOptions> = {}) {
  const backend = openMemory();
  closeAfterwards(() => backend.close());
  const rules = compileRules(RULES);
  const collections = new Collections({ backend, ...rules.collectionOptions });
  const events: GuardEvent[] = [];
  const guarding = guard({ collections, rules, log: (event) => events.push(event), ...options });
  const server = createServer(
    guarding.handler(async (request: IncomingMessage, response) => {
      let bytes = 0;
      for await (const chunk of request) bytes += (chunk as Buffer).length;
      response.end(`app:${bytes}`);
    }),
  );
  const port = await serveHttp(server);
  const requests = () => {
    using tx = collections.begin();
    tx.bindSync('ip', '127.0.0.1');
    return tx.get('ip', 'requests');
  };
  return { guarding, events, port, requests, diagnostics: () => rules.diagnostics.snapshot() };
}

describe('hostile requests', () => {
  test('a million arguments are judged once each, and what does not fit is dropped and counted', async () => {
    const { guarding, events, port, requests, diagnostics } = await guarded({ bodyLimit: 2 ** 24 });
    const body = Array.from({ length: 1_000_000 }, (_, index) => `${index.toString(36)}=1`).join('&');
    expect((await ask(port, '/', { method: 'POST', headers: FORM, body })).status).toBe(413);
    await guarding.drain();
    expect(events.map(({ type }) => type)).toEqual(['decision']);
    expect(diagnostics().droppedByLimit).toBeGreaterThan(900_000);
    // The rest of the request counts all the same.
    expect(guarding.counters()).toMatchObject({ evaluationFailures: 0, flushFailures: 0 });
    expect((await ask(port, '/')).status).toBe(200);
    await guarding.drain();
    expect(Number(requests())).toBeGreaterThanOrEqual(1);
  });

  test('the default bound lets no such form in', async () => {
    const { port, guarding } = await guarded();
    const body = 'a=1&'.repeat(250_000);
    expect((await ask(port, '/', { method: 'POST', headers: FORM, body })).status).toBe(413);
    expect(guarding.counters().refusedBodies).toBe(1);
  });

  test('input that makes a backtracking engine take for ever takes as long as its length', async () => {
    const { port } = await guarded();
    const time = async (length: number) => {
      const began = performance.now();
      const body = `v=${'a'.repeat(length)}&w=${'xy'.repeat(length / 2)}`;
      expect((await ask(port, '/', { method: 'POST', headers: FORM, body })).status).toBe(200);
      return performance.now() - began;
    };
    await time(1000);
    const short = await time(4000);
    // Exponential work would not end at all; quadratic work would take 256 times as long.
    expect(await time(64_000)).toBeLessThan(128 * Math.max(short, 5));
  });

  test.each([
    [
      'invalid UTF-8 and NUL in every place',
      `/%ff%fe%00?%c0%80=%ed%a0%80&%00=%f8&=&&%`,
      '%ff=%fe&%=%&%u=%uZZ&\u00ff=\u0080',
      'sid=\u00ff\u00fe; =; ;;a',
    ],
    [
      'names that are those of facts and prototypes',
      '/?KEY=1&__proto__=1&constructor=1&IS_NEW=1&TIMEOUT=0',
      'hasOwnProperty=1&toString=1',
      'sid=__proto__; constructor=1',
    ],
    [
      'macros and line ends',
      '/?%25{ip.requests}=%25{tx.a}&a=%0d%0aX: y',
      'a=%25{REQUEST_BODY}%0a',
      'sid=%{ip.a}',
    ],
  ])('%s are values like others', async (_what, path, body, cookie) => {
    const { port, events, guarding, requests } = await guarded();
    const raw = `POST ${path.replaceAll(' ', '%20')} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: ${cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${Buffer.byteLength(body, 'latin1')}\r\n\r\n${body}`;
    const socket = await rawConnection(port);
    socket.write(raw, 'latin1');
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*app:/);
    await guarding.drain();
    expect(events).toEqual([]);
    expect(requests()).toBe('1');
  });

  test('a flood of headers is refused by the parser, or judged within its bound', async () => {
    const { port, guarding } = await guarded();
    const flood = async (count: number, line: (index: number) => string) => {
      const socket = await rawConnection(port);
      const lines = Array.from({ length: count }, (_, index) => line(index)).join('');
      socket.write(`GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines}\r\n`);
      return (await rest(socket)).slice(9, 12);
    };
    expect(await flood(100_000, (index) => `x-${index}: aaaaaaaa\r\n`)).toMatch(/431|^$/);
    expect(await flood(1500, () => 'a: b\r\n')).toBe('200');
    expect(await flood(1, () => `cookie: ${'a=b;'.repeat(3500)}\r\n`)).toBe('200');
    await guarding.drain();
    expect(guarding.counters()).toMatchObject({ evaluationFailures: 0, flushFailures: 0 });
  });

  test('a body a byte at a time ends with its time, however regularly the bytes come', async () => {
    const { port, guarding, requests } = await guarded({ bodyTimeout: 0.3 });
    const socket = await rawConnection(port);
    socket.write(
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100000\r\n\r\n',
    );
    const drip = setInterval(() => socket.write('a'), 20);
    const text = await rest(socket);
    clearInterval(drip);
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    await guarding.drain();
    expect(requests()).toBe('1');
  });

  test('a thousand connections that give up leave nothing behind', async () => {
    const { port, guarding } = await guarded();
    const head =
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\na';
    for (let round = 0; round < 20; round++) {
      const sockets = await Promise.all(Array.from({ length: 50 }, () => rawConnection(port)));
      for (const socket of sockets) socket.write(head, () => socket.resetAndDestroy());
    }
    expect((await ask(port, '/')).status).toBe(200);
    await guarding.drain();
    const { requests, aborted } = guarding.counters();
    expect(aborted).toBe(requests - 1);
  });
});
