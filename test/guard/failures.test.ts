import { createServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import { Collections, type CollectionsOptions } from 'wafstate';
import { type GuardEvent, type GuardOptions, guard } from 'wafstate/guard';
import { compileRules } from 'wafstate/seclang';
import { FailingBackend } from './failing-backend.js';
import { ask, closeAfterwards, serveHttp } from './servers.js';

const RULES = `
SecAction "id:1,phase:1,nolog,pass,initcol:ip=%{REMOTE_ADDR}"
SecRule REQUEST_URI "@beginsWith /deny" "id:2,phase:1,nolog,deny"
SecAction "id:3,phase:5,nolog,pass,setvar:ip.requests=+1"
`;

async function guarded(
  failurePolicy: NonNullable<CollectionsOptions['failurePolicy']>,
  options: Partial<GuardOptions> = {},
) {
  const backend = new FailingBackend();
  closeAfterwards(() => backend.close());
  const rules = compileRules(RULES);
  const collections = new Collections({ backend, failurePolicy, ...rules.collectionOptions });
  const events: GuardEvent[] = [];
  const guarding = guard({ collections, rules, log: (event) => events.push(event), ...options });
  const asked: string[] = [];
  const port = await serveHttp(
    createServer(
      guarding.handler((request, response) => {
        asked.push(request.url ?? '');
        response.setHeader('x-app', 'yes');
        response.end('app');
      }),
    ),
  );
  return { backend, guarding, events, port, asked };
}

describe('an engine that cannot be read', () => {
  test.each([
    ['unavailable', '1'],
    ['closed', '30'],
    ['corrupt_data', '30'],
  ] as const)(
    '%s: under fail_closed 503 and Retry-After %s, and the application is not asked',
    async (code, after) => {
      const { backend, guarding, events, port, asked } = await guarded('fail_closed');
      backend.loads = code;
      const reply = await ask(port, '/');
      expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': after } });
      await guarding.drain();
      expect(asked).toEqual([]);
      expect(backend.committed).toBe(0);
      expect(guarding.counters()).toMatchObject({ unavailable: 1, evaluationFailures: 1, flushFailures: 0 });
      expect(events).toEqual([
        expect.objectContaining({
          type: 'failure',
          stage: 'evaluation',
          code,
          status: 503,
          client: '127.0.0.1',
        }),
      ]);
      backend.loads = undefined;
      expect((await ask(port, '/')).status).toBe(200);
    },
  );

  test('under fail_open the request goes on, and the failure is an event and a count', async () => {
    const { backend, guarding, events, port } = await guarded('fail_open');
    backend.loads = 'unavailable';
    expect((await ask(port, '/')).status).toBe(200);
    await guarding.drain();
    expect(guarding.counters()).toMatchObject({ unavailable: 0, flushFailures: 1 });
    expect(events).toMatchObject([{ type: 'failure', code: 'unavailable', status: undefined }]);
  });

  test('an engine that throws what it should not is unavailable, and the event quotes nothing of it', async () => {
    const { backend, guarding, events, port } = await guarded('fail_closed');
    Object.assign(backend, {
      loadSync: () => {
        throw new TypeError('secret=hunter2');
      },
    });
    expect((await ask(port, '/')).status).toBe(503);
    await guarding.drain();
    expect(events).toMatchObject([{ type: 'failure', code: 'unavailable' }]);
    expect(JSON.stringify(events)).not.toContain('hunter2');
  });
});

describe('an engine that cannot be written', () => {
  test('after the response: the client has its answer, the failure is an event and a count', async () => {
    const { backend, guarding, events, port } = await guarded('fail_closed');
    backend.commits = 'queue_full';
    expect(await ask(port, '/')).toMatchObject({ status: 200, body: 'app' });
    await guarding.drain();
    expect(guarding.counters()).toMatchObject({ unavailable: 0, flushFailures: 1 });
    expect(events).toMatchObject([
      { type: 'failure', stage: 'flush', code: 'queue_full', status: undefined },
    ]);
  });

  test.each(['/', '/deny'])(
    'before the response: %s is answered with 503, and nothing of the other answer gets out',
    async (path) => {
      const { backend, guarding, port } = await guarded('fail_closed', { flush: 'before' });
      backend.commits = 'unavailable';
      const reply = await ask(port, path);
      expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
      expect(reply.headers).not.toHaveProperty('x-app');
      await guarding.drain();
      expect(guarding.counters()).toMatchObject({ unavailable: 1, flushFailures: 1 });
    },
  );

  test('before the response, under fail_open: the application’s answer goes out', async () => {
    const { backend, guarding, port } = await guarded('fail_open', { flush: 'before' });
    backend.commits = 'unavailable';
    expect(await ask(port, '/')).toMatchObject({ status: 200, body: 'app' });
    expect(guarding.counters()).toMatchObject({ unavailable: 0, flushFailures: 1 });
  });
});

describe('the moment of the flush', () => {
  test('before the response: not a byte goes out until the state is stored', async () => {
    const { backend, port } = await guarded('fail_closed', { flush: 'before' });
    let store: () => void = () => undefined;
    backend.barrier = new Promise((resolve) => {
      store = resolve;
    });
    let answered = false;
    const reply = ask(port, '/').then((given) => {
      answered = true;
      return given;
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(answered).toBe(false);
    store();
    expect(await reply).toMatchObject({ status: 200, body: 'app' });
    expect(backend.committed).toBe(1);
  });

  test('after the response: the client does not wait, and drain does', async () => {
    const { backend, guarding, port } = await guarded('fail_closed');
    let store: () => void = () => undefined;
    backend.barrier = new Promise((resolve) => {
      store = resolve;
    });
    expect((await ask(port, '/')).status).toBe(200);
    let drained = false;
    const drain = guarding.drain().then(() => {
      drained = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(drained).toBe(false);
    store();
    await drain;
    expect(backend.committed).toBe(1);
  });
});
