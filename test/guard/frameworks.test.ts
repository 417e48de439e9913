import { describe, expect, test } from 'vitest';
import { Collections, openMemory } from 'wafstate';
import { type GuardEvent, type GuardOptions, guard } from 'wafstate/guard';
import { compileRules } from 'wafstate/seclang';
import { ask, closeAfterwards, FORM, FRAMEWORKS } from './servers.js';

const RULES = `
SecAction "id:1,phase:1,nolog,pass,initcol:ip=%{REMOTE_ADDR}"
SecRule IP:blocked "@eq 1" "id:2,phase:1,deny,status:429,msg:'blocked, %{ip.failures} failures'"
SecRule ARGS:attack "@streq yes" "id:3,phase:2,deny,msg:'attack %{MATCHED_VAR}'"
SecRule ARGS:away "@streq yes" "id:4,phase:2,redirect:/elsewhere?from=%{REQUEST_FILENAME}"
SecRule ARGS:gone "@streq yes" "id:5,phase:2,drop"
SecRule RESPONSE_HEADERS:x-secret "@rx ." "id:6,phase:3,deny,status:502"
SecRule RESPONSE_STATUS "@streq 401" "id:7,phase:5,nolog,pass,setvar:ip.failures=+1,expirevar:ip.failures=60"
SecRule IP:failures "@ge 3" "id:8,phase:5,nolog,pass,setvar:ip.blocked=1,expirevar:ip.blocked=3600"
`;

function guarded(options: Partial<GuardOptions> = {}) {
  const backend = openMemory();
  closeAfterwards(() => backend.close());
  const rules = compileRules(RULES, { file: 'login.conf' });
  const collections = new Collections({ backend, ...rules.collectionOptions });
  const events: GuardEvent[] = [];
  const guarding = guard({ collections, rules, log: (event) => events.push(event), ...options });
  return { guarding, events };
}

describe.each(Object.entries(FRAMEWORKS))('%s', (_name, start) => {
  describe.each(['after', 'before'] as const)('flush %s the response', (flush) => {
    test('lets pass what no rule refuses, with the application’s own answer', async () => {
      const { guarding } = guarded({ flush });
      const { port, seen } = await start(guarding);
      const reply = await ask(port, '/page?a=1', { method: 'POST', body: 'x'.repeat(100_000) });
      expect(reply).toMatchObject({ status: 200, body: `app:${'x'.repeat(100_000)}` });
      expect(reply.headers).toMatchObject({ 'x-app': 'yes' });
      expect(seen).toHaveLength(1);
      await guarding.drain();
      expect(guarding.counters()).toMatchObject({ requests: 1, denied: 0, unavailable: 0, aborted: 0 });
    });

    test('counts what the application answers, and refuses the client that did too much', async () => {
      const { guarding, events } = guarded({ flush });
      const { port, seen } = await start(guarding);
      for (let attempt = 0; attempt < 3; attempt++) {
        expect((await ask(port, '/login')).status).toBe(401);
        await guarding.drain();
      }
      const refused = await ask(port, '/login');
      expect(refused).toMatchObject({ status: 429, body: '429 Too Many Requests\n' });
      expect(refused.headers).not.toHaveProperty('x-app');
      expect((await ask(port, '/login', { from: '127.0.0.9' })).status).toBe(401);
      expect(seen).toHaveLength(4);
      const decision = events.find(({ type }) => type === 'decision');
      expect(decision).toMatchObject({
        action: 'deny',
        status: 429,
        client: '127.0.0.1',
        method: 'GET',
        rule: { id: 2, file: 'login.conf', line: 3, causes: [{ condition: 'IP:blocked @eq 1' }] },
      });
      expect(guarding.counters().denied).toBe(1);
    });

    test.each([
      ['of a known length', 'attack=yes'],
      ['in chunks', ['att', 'ack=', 'yes']],
    ])('reads the form %s, refuses it, and the application never hears of it', async (_how, body) => {
      const { guarding } = guarded({ flush });
      const { port, seen } = await start(guarding);
      const reply = await ask(port, '/form', { method: 'POST', headers: FORM, body });
      expect(reply.status).toBe(403);
      expect(seen).toEqual([]);
    });

    test.each([
      ['of a known length', 'a=1&b=2'],
      ['in chunks', ['a=1', '&', 'b=2']],
      ['larger than the stream’s buffer', `a=${'x'.repeat(120_000)}`],
      ['larger than the stream’s buffer, in chunks', Array.from({ length: 100 }, () => 'x'.repeat(1000))],
      ['empty, in chunks', []],
    ])('hands the form %s on, whole', async (_how, body) => {
      const { guarding } = guarded({ flush });
      const { port, seen } = await start(guarding);
      const headers = { ...FORM, ...(typeof body !== 'string' && { 'transfer-encoding': 'chunked' }) };
      const reply = await ask(port, '/form', { method: 'POST', headers, body });
      const whole = typeof body === 'string' ? body : body.join('');
      expect(reply).toMatchObject({ status: 200, body: `app:${whole}` });
      expect(seen).toEqual([{ path: '/form', body: whole }]);
    });

    test('redirects, with what a client has put into the address made harmless', async () => {
      const { guarding } = guarded({ flush });
      const { port } = await start(guarding);
      const reply = await ask(port, '/p%0d%0aX?away=yes');
      expect(reply.status).toBe(302);
      expect(reply.headers.location).toBe('/elsewhere?from=/p%0d%0aX');
      expect(guarding.counters().redirected).toBe(1);
    });

    test('drops the connection without an answer', async () => {
      const { guarding } = guarded({ flush });
      const { port, seen } = await start(guarding);
      await expect(ask(port, '/?gone=yes')).rejects.toThrow(/socket hang up|ECONNRESET/);
      await guarding.drain();
      expect(seen).toEqual([]);
      expect(guarding.counters()).toMatchObject({ dropped: 1, aborted: 0 });
    });

    test('replaces a response whose head a rule refuses, and nothing of it gets out', async () => {
      const { guarding } = guarded({ flush });
      const { port, seen } = await start(guarding);
      const reply = await ask(port, '/secret');
      expect(reply).toMatchObject({ status: 502, body: '502 Bad Gateway\n' });
      expect(reply.headers).not.toHaveProperty('x-secret');
      expect(reply.headers).not.toHaveProperty('x-app');
      expect(seen).toHaveLength(1);
    });
  });
});
