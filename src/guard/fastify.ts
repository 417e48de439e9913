import type { IncomingMessage, ServerResponse } from 'node:http';
import { serve } from './serve.js';
import type { Desk } from './visit.js';

/** As much of Fastify's types as is used, so that the package's own need no Fastify. */
interface Instance {
  addHook(
    name: 'onRequest',
    hook: (
      request: { readonly raw: IncomingMessage },
      reply: { readonly raw: ServerResponse; hijack(): unknown },
      done: () => void,
    ) => void,
  ): unknown;
}

export type FastifyPlugin = (instance: Instance, options: unknown, done: (error?: Error) => void) => void;

/** onRequest is the first hook, and comes before the body is parsed. */
export function fastifyPlugin(desk: Desk): FastifyPlugin {
  const plugin: FastifyPlugin = (instance, _options, done) => {
    instance.addHook('onRequest', (request, reply, next) => {
      const { raw } = request;
      // Fastify is told that it has no part in the answer, else it would send one of its own.
      serve(desk, raw, reply.raw, raw.url ?? '', next, () => reply.hijack());
    });
    done();
  };
  // What Fastify asks of a plugin whose hooks are for the whole instance and not for the plugin's own routes.
  return Object.assign(plugin, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: 'wafstate-guard',
  });
}
