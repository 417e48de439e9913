import { createServer, type Server } from 'node:http';
import type { GuardCounters } from '../../guard/counters.js';
import type { DiagnosticCounts } from '../../seclang/index.js';

export interface AdminSource {
  /** Whether requests are taken and the engine can be read. */
  isHealthy(): boolean;
  counters(): GuardCounters;
  upstreamFailures(): number;
  diagnostics(): DiagnosticCounts;
}

/** `/healthz`: 200 or 503. `/metrics`: Prometheus' text format, version 0.0.4. */
export function adminServer(source: AdminSource): Server {
  return createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { Allow: 'GET, HEAD' }).end();
    } else if (path === '/healthz') {
      const healthy = source.isHealthy();
      response.writeHead(healthy ? 200 : 503, { 'Content-Type': 'text/plain' });
      response.end(healthy ? 'ok\n' : 'unavailable\n');
    } else if (path === '/metrics') {
      response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
      response.end(metricsOf(source));
    } else {
      response.writeHead(404).end();
    }
  });
}

function metricsOf(source: AdminSource): string {
  const { requests, denied, redirected, dropped, refusedBodies, aborted, unavailable, ...failures } =
    source.counters();
  const { evaluationFailures, flushFailures } = failures;
  return [
    counter('guard_requests', 'Requests that met the rules.', [['', requests]]),
    counter('guard_refusals', 'Requests that a rule ended, by its action.', [
      ['{action="deny"}', denied],
      ['{action="redirect"}', redirected],
      ['{action="drop"}', dropped],
    ]),
    counter('guard_refused_bodies', 'Forms that were too large, too slow or encoded.', [['', refusedBodies]]),
    counter('guard_aborted', 'Connections that closed before the response had a head.', [['', aborted]]),
    counter('guard_unavailable', 'Requests that a failure of the engine answered.', [['', unavailable]]),
    counter('guard_failures', 'Failures of the engine, by what they kept from being done.', [
      ['{stage="evaluation"}', evaluationFailures],
      ['{stage="flush"}', flushFailures],
    ]),
    counter('guard_upstream_failures', 'Requests that the upstream did not answer.', [
      ['', source.upstreamFailures()],
    ]),
    counter(
      'seclang_diagnostics',
      'Actions of rules that could not be done as asked, by why.',
      Object.entries(source.diagnostics()).map(([reason, count]) => [`{reason="${reason}"}`, count]),
    ),
  ].join('');
}

function counter(name: string, help: string, samples: readonly (readonly [string, number])[]): string {
  const full = `wafstate_${name}_total`;
  const lines = samples.map(([labels, value]) => `${full}${labels} ${value}\n`);
  return `# HELP ${full} ${help}\n# TYPE ${full} counter\n${lines.join('')}`;
}
