/** Rules with state in front of a server: node:http, Express, Fastify. */

export type { GuardCounters } from './counters.js';
export type {
  DecisionEvent,
  ExplainedRule,
  FailureEvent,
  GuardEvent,
  MatchEvent,
  RefusalEvent,
} from './events.js';
export type { FastifyPlugin } from './fastify.js';
export { type Guard, guard, type Middleware, type UpgradeListener } from './guard.js';
export type { GuardOptions } from './options.js';
