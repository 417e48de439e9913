import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type GuardCounters, newTally } from './counters.js';
import { type FastifyPlugin, fastifyPlugin } from './fastify.js';
import { type GuardOptions, resolveGuard } from './options.js';
import { serve, serveUpgrade } from './serve.js';
import type { Desk } from './visit.js';

/** What Express and Connect take: `app.use(guard.express)`. */
export type Middleware = (
  request: IncomingMessage & { originalUrl?: string },
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Rules before an application. Evaluation is synchronous; only the body of a form and the flush are awaited. */
export interface Guard {
  /** A listener for node:http in front of the application's. */
  handler(listener: RequestListener): RequestListener;
  /** The same for the event `upgrade`, which passes by the other: without it a WebSocket meets no rule. */
  upgradeHandler(listener: UpgradeListener): UpgradeListener;
  /** Mount it first, before what reads bodies. */
  readonly express: Middleware;
  /** For `app.register(guard.fastify)`, before the routes. */
  readonly fastify: FastifyPlugin;
  counters(): GuardCounters;
  /** Resolves once every request that has begun is flushed and closed: between `server.close()` and the engine's. */
  drain(): Promise<void>;
}

/**
 * Rules in front of an application, on an engine that loads synchronously, as all that are built in do. Throws `invalid_option`.
 * A failing engine is a 503 with Retry-After under `fail_closed`; under `fail_open` the request goes on, and the failure is counted.
 */
export function guard(options: GuardOptions): Guard {
  const desk: Desk = { settings: resolveGuard(options), tally: newTally(), open: 0, idle: [] };
  return {
    handler: (listener) => (request, response) =>
      serve(desk, request, response, request.url ?? '', () => listener(request, response), nothing),
    upgradeHandler: (listener) => (request, socket, head) =>
      serveUpgrade(desk, request, socket, () => listener(request, socket, head)),
    express: (request, response, next) =>
      serve(desk, request, response, request.originalUrl ?? request.url ?? '', () => next(), nothing),
    fastify: fastifyPlugin(desk),
    counters: () => ({ ...desk.tally }),
    drain: () =>
      new Promise((resolve) => {
        if (desk.open === 0) resolve();
        else desk.idle.push(resolve);
      }),
  };
}

function nothing(): void {
  // node:http and Express need no word that a request was answered.
}
