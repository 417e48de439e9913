import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { afterEach } from 'vitest';
import type { Guard } from 'wafstate/guard';

/** What the application under guard does with each path, in any framework. */
export interface Application {
  readonly port: number;
  /** Bodies that the application was given, and paths that it was asked for. */
  readonly seen: { readonly path: string; readonly body: string }[];
}

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Closes it after the test, in the reverse order. */
export function closeAfterwards(close: () => Promise<void>): void {
  closers.push(close);
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

export async function serveHttp(server: Server): Promise<number> {
  const port = await listen(server);
  closeAfterwards(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return port;
}

/** `/login` answers 401, `/secret` answers 200 with a header `x-secret`, all others 200; the body comes back. */
function answerTo(
  path: string,
  body: string,
): { status: number; headers: Record<string, string>; body: string } {
  return {
    status: path.startsWith('/login') ? 401 : 200,
    headers: path.startsWith('/secret') ? { 'x-secret': 'leaked', 'x-app': 'yes' } : { 'x-app': 'yes' },
    body: `app:${body}`,
  };
}

async function bodyOf(message: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks).toString('latin1');
}

export const FRAMEWORKS: Readonly<Record<string, (guard: Guard) => Promise<Application>>> = {
  'node:http': async (guard) => {
    const seen: Application['seen'] = [];
    const server = createServer(
      guard.handler(async (incoming, response) => {
        const body = await bodyOf(incoming);
        const path = incoming.url ?? '';
        seen.push({ path, body });
        const answer = answerTo(path, body);
        response.writeHead(answer.status, answer.headers).end(answer.body);
      }),
    );
    return { port: await serveHttp(server), seen };
  },
  express: async (guard) => {
    const seen: Application['seen'] = [];
    const app = express();
    app.use(guard.express);
    app.use(express.text({ type: () => true, limit: '2mb', defaultCharset: 'latin1' }));
    app.use((incoming, response) => {
      const body = typeof incoming.body === 'string' ? incoming.body : '';
      seen.push({ path: incoming.originalUrl, body });
      const answer = answerTo(incoming.originalUrl, body);
      response.status(answer.status).set(answer.headers).send(answer.body);
    });
    return { port: await serveHttp(createServer(app)), seen };
  },
  fastify: async (guard) => {
    const seen: Application['seen'] = [];
    const app = fastify({ bodyLimit: 2 ** 21 });
    await app.register(guard.fastify);
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    app.all('/*', async (incoming, reply) => {
      const body = Buffer.isBuffer(incoming.body) ? incoming.body.toString('latin1') : '';
      seen.push({ path: incoming.raw.url ?? '', body });
      const answer = answerTo(incoming.raw.url ?? '', body);
      return reply.code(answer.status).headers(answer.headers).send(answer.body);
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    closeAfterwards(async () => {
      app.server.closeAllConnections();
      await app.close();
    });
    return { port: (app.server.address() as AddressInfo).port, seen };
  },
};

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  /** Several: sent with `Transfer-Encoding: chunked`, one after the other. */
  readonly body?: string | readonly string[];
  /** Of 127.0.0.0/8: each is another client. */
  readonly from?: string;
}

export const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** Rejects where the connection ends without an answer. */
export async function ask(port: number, path: string, options: Ask = {}): Promise<Reply> {
  const { method = 'GET', headers = {}, body, from } = options;
  const sent = request({
    host: '127.0.0.1',
    port,
    path,
    method,
    agent: false,
    headers: typeof body === 'string' ? { ...headers, 'content-length': Buffer.byteLength(body) } : headers,
    ...(from !== undefined && { localAddress: from }),
  });
  if (typeof body === 'string') sent.end(body);
  else {
    for (const chunk of body ?? []) {
      sent.write(chunk);
      await new Promise((resolve) => setImmediate(resolve));
    }
    sent.end();
  }
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await bodyOf(response) };
}

/** A connection for what no client library would send. */
export async function rawConnection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  closeAfterwards(async () => {
    socket.destroy();
  });
  return socket;
}

/** Everything that comes until the other side ends. */
export async function rest(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => socket.destroy());
  if (!socket.closed) await once(socket, 'close');
  return text;
}
