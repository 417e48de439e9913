// A login form behind a guard.
//
//   PASSWORD=… node examples/login/server.mjs          state in ./state, port 8080 or PORT
//
// Rules: login.conf stops those who try passwords, sessions.conf those who use a session that is not theirs.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Collections, openLmdb } from 'wafstate';
import { guard } from 'wafstate/guard';
import { loadRules } from 'wafstate/seclang';

const RULES = ['login.conf', 'sessions.conf'].map((name) => fileURLToPath(new URL(name, import.meta.url)));

/** The server, not yet listening, and its guard. `clock` is for tests. */
export function createLogin({ backend, password, clock, log }) {
  const rules = loadRules(RULES);
  const guarding = guard({
    collections: new Collections({ backend, clock, ...rules.collectionOptions }),
    rules,
    log,
    // Who waits for the answer to one password before it tries the next is judged by every one before.
    flush: 'before',
  });
  return {
    server: createServer(guarding.handler((request, response) => answer(request, response, password))),
    guarding,
  };
}

async function answer(request, response, password) {
  const { pathname } = new URL(request.url, 'http://localhost');
  if (pathname !== '/login') {
    response.writeHead(pathname === '/' ? 200 : 404).end('Hello.\n');
    return;
  }
  if (request.method !== 'POST') {
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.end(
      '<form method="post"><input name="password" type="password"><button>Log in</button></form>\n',
    );
    return;
  }
  // The guard has read the form and let it pass; here it is again, whole.
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const form = new URLSearchParams(Buffer.concat(chunks).toString());
  if (!isSame(form.get('password') ?? '', password)) {
    response.writeHead(401).end('That is not the password.\n');
    return;
  }
  const sid = randomBytes(16).toString('hex');
  response.setHeader('Set-Cookie', `sid=${sid}; HttpOnly; SameSite=Lax; Path=/`);
  response.writeHead(303, { Location: '/' }).end();
}

function isSame(given, expected) {
  const digest = (text) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

async function main() {
  const backend = await openLmdb({ path: './state' });
  const { server, guarding } = createLogin({
    backend,
    password: process.env.PASSWORD ?? randomBytes(8).toString('hex'),
    log: (event) => process.stderr.write(`${JSON.stringify(event)}\n`),
  });
  server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
    process.stdout.write(`listening on http://127.0.0.1:${server.address().port}/login\n`);
  });
  process.once('SIGTERM', () => {
    server.close(async () => {
      // Nothing that was counted is lost.
      await guarding.drain();
      await backend.close();
    });
    server.closeIdleConnections();
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
