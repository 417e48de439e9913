import { beforeEach, describe, expect, test } from 'vitest';
import { openMemory } from '../../src/backend/memory/memory.js';
import { Collections } from '../../src/collections/index.js';
import {
  type CompileRulesOptions,
  compileActions,
  compileRules,
  type Evaluation,
  type RequestFacts,
} from '../../src/seclang/index.js';
import { ManualClock } from '../collections/manual-clock.js';

let clock: ManualClock;
let collections: Collections;

beforeEach(() => {
  clock = new ManualClock();
  collections = new Collections({ backend: openMemory({ cleanupInterval: 0 }), clock });
});

const REQUEST: RequestFacts = {
  clientAddress: '192.0.2.1',
  method: 'GET',
  uri: '/a/b.php?id=1&id=2&q=x%20y#f',
  httpVersion: '1.1',
  headers: [
    ['Host', 'shop.example:8080'],
    ['User-Agent', 'curl/8'],
    ['Cookie', 'sid=abc; theme = dark'],
    ['Content-Type', 'application/x-www-form-urlencoded; charset=utf-8'],
  ],
  uniqueId: 'u1',
};

interface RunOptions {
  readonly request?: Partial<RequestFacts>;
  readonly body?: string;
  readonly compile?: CompileRulesOptions;
}

/** Runs one request through all phases. */
async function run(lines: string | readonly string[], options: RunOptions = {}): Promise<Evaluation> {
  const rules = compileRules(typeof lines === 'string' ? lines : lines.join('\n'), options.compile);
  using transaction = collections.begin();
  const evaluation = rules.begin(transaction, { ...REQUEST, ...options.request });
  evaluation.run(1);
  if (options.body !== undefined) evaluation.setBody(Buffer.from(options.body));
  evaluation.run(2);
  evaluation.setResponse({ status: 200, headers: [['Content-Type', 'text/html']] });
  for (const phase of [3, 4, 5] as const) evaluation.run(phase);
  await transaction.processLogging();
  return evaluation;
}

const idsOf = ({ matches }: Evaluation) => matches.map(({ id }) => id);

/** What a target comes to, each as `name=value`. */
async function values(target: string, options: RunOptions = {}): Promise<string[]> {
  const { matches } = await run(
    [
      `SecAction "id:1,phase:1,initcol:ip=k,setvar:ip.n=5,setvar:ip.name=x,setsid:s1,setvar:tx.a=1"`,
      `SecRule ${target} "@unconditionalMatch" "id:2,phase:5,setvar:'tx.seen=%{tx.seen}%{MATCHED_VAR_NAME}=%{MATCHED_VAR};',msg:'%{tx.seen}'"`,
    ],
    options,
  );
  return matches[1]?.message?.split(';').slice(0, -1) ?? [];
}

describe('targets', () => {
  test.each([
    ['REMOTE_ADDR', ['REMOTE_ADDR=192.0.2.1']],
    ['REQUEST_METHOD|REQUEST_PROTOCOL', ['REQUEST_METHOD=GET', 'REQUEST_PROTOCOL=HTTP/1.1']],
    ['REQUEST_URI', ['REQUEST_URI=/a/b.php?id=1&id=2&q=x%20y#f']],
    ['REQUEST_FILENAME|REQUEST_BASENAME', ['REQUEST_FILENAME=/a/b.php', 'REQUEST_BASENAME=b.php']],
    ['QUERY_STRING', ['QUERY_STRING=id=1&id=2&q=x%20y']],
    ['ARGS', ['ARGS:id=1', 'ARGS:id=2', 'ARGS:q=x y']],
    ['args:ID', ['ARGS:id=1', 'ARGS:id=2']],
    ['ARGS|!ARGS:id', ['ARGS:q=x y']],
    ['ARGS|!ARGS:/^I/', ['ARGS:q=x y']],
    ['ARGS:/^i|^q/', ['ARGS:id=1', 'ARGS:id=2', 'ARGS:q=x y']],
    ["ARGS:'/^q/'", ['ARGS:q=x y']],
    ['&ARGS', ['&ARGS=3']],
    ['&ARGS:id', ['&ARGS:id=2']],
    ['ARGS_NAMES', ['ARGS_NAMES:id=id', 'ARGS_NAMES:id=id', 'ARGS_NAMES:q=q']],
    ['REQUEST_HEADERS:user-agent', ['REQUEST_HEADERS:User-Agent=curl/8']],
    ['REQUEST_COOKIES', ['REQUEST_COOKIES:sid=abc', 'REQUEST_COOKIES:theme=dark']],
    ['SERVER_NAME', ['SERVER_NAME=shop.example']],
    ['RESPONSE_STATUS|RESPONSE_HEADERS', ['RESPONSE_STATUS=200', 'RESPONSE_HEADERS:Content-Type=text/html']],
    ['IP', ['IP:n=5', 'IP:name=x']],
    ['&IP', ['&IP=2']],
    ['ip.n', ['IP:n=5']],
    ['IP:N', ['IP:n=5']],
    ['IP:/^n$/', ['IP:n=5']],
    ['IP|!IP:n', ['IP:name=x']],
    ['IP:KEY', ['IP:KEY=k']],
    ['IP:key', []],
    ['IP:/KEY/', []],
    ['&USER:n', ['&USER:n=0']],
    ['USER', []],
    ['SESSIONID|USERID', ['SESSIONID=s1']],
    ['TX:a', ['TX:a=1']],
    ['RULE:id', ['RULE:id=2']],
    ['UNIQUE_ID', ['UNIQUE_ID=u1']],
    ['TIME_EPOCH', ['TIME_EPOCH=1800000000']],
    ['DURATION', ['DURATION=0']],
    ['REQBODY_PROCESSOR', ['REQBODY_PROCESSOR=URLENCODED']],
  ])('%s', async (target, expected) => {
    expect(await values(target)).toEqual(expected);
  });

  test('the body gives arguments where it is a form', async () => {
    expect(await values('ARGS_POST', { body: 'a=1&b=%3d&c' })).toEqual([
      'ARGS_POST:a=1',
      'ARGS_POST:b==',
      'ARGS_POST:c=',
    ]);
    expect(
      await values('ARGS_POST', { body: '{"a":1}', request: { headers: [['Content-Type', 'text/json']] } }),
    ).toEqual([]);
  });
});

describe('operators', () => {
  test.each([
    ['@rx ^/a', true],
    ['^/a', true],
    ['!@rx ^/a', false],
    ['!^/b', true],
    ['@streq /a/b.php', true],
    ['@STREQ /a', false],
    ['@contains b.p', true],
    ['@containsWord php', true],
    ['@containsWord ph', false],
    ['@beginsWith /a/', true],
    ['@endsWith .php', true],
    ['@within x /a/b.php y', true],
    ['@within %{REQUEST_FILENAME}', true],
    ['@pm nope PHP', true],
    ['@pm nope never', false],
    ['@unconditionalMatch', true],
    ['@noMatch', false],
    ['!@noMatch', true],
    ['@validateByteRange 32-126', false],
    ['@validateByteRange 97-122', true],
  ])('%s on a path: %s', async (operator, expected) => {
    expect(idsOf(await run(`SecRule REQUEST_FILENAME "${operator}" "id:1"`))).toEqual(expected ? [1] : []);
  });

  test.each([
    ['@eq 10', true],
    ['@eq 10x', true],
    ['@gt 9', true],
    ['@gt 10', false],
    ['@ge 10', true],
    ['@lt 11', true],
    ['@le 9', false],
    ['@gt %{tx.nine}', true],
    ['@lt 9223372036854775807', true],
    ['@gt -9223372036854775808', true],
    ['!@eq 10', false],
  ])('%s on 10: %s', async (operator, expected) => {
    const { matches } = await run([
      'SecAction "id:9,phase:1,setvar:tx.n= 10.9,setvar:tx.nine=9"',
      `SecRule TX:n "${operator}" "id:1"`,
    ]);
    expect(matches.some(({ id }) => id === 1)).toBe(expected);
  });

  test.each([
    ['192.0.2.0/24', true],
    ['192.0.2.1,2001:db8::/32', true],
    ['198.51.100.0/24, 10.0.0.1', false],
  ])('@ipMatch %s: %s', async (argument, expected) => {
    for (const clientAddress of ['192.0.2.1', '::ffff:192.0.2.1']) {
      const evaluation = await run(`SecRule REMOTE_ADDR "@ipMatch ${argument}" "id:1"`, {
        request: { clientAddress },
      });
      expect(idsOf(evaluation)).toEqual(expected ? [1] : []);
    }
  });
});

describe('actions', () => {
  test('a chain needs all of its links; each changes state when it matches, the decision is the last one’s', async () => {
    const lines = (method: string) => [
      'SecRule REQUEST_FILENAME "@beginsWith /a" "id:1,phase:1,deny,status:429,chain,setvar:tx.first=1,msg:\'m\'"',
      `  SecRule REQUEST_METHOD "@streq ${method}" "setvar:tx.second=1"`,
      'SecRule TX:first|TX:second "@eq 1" "id:2,phase:5,setvar:\'tx.n=+1\',msg:\'%{tx.n}\'"',
    ];
    const hit = await run(lines('GET'));
    expect(hit.decision).toEqual({ type: 'deny', status: 429, location: undefined, ruleId: 1 });
    expect(hit.matches.map(({ id, message }) => [id, message])).toEqual([
      [1, 'm'],
      [2, '2'],
    ]);
    const miss = await run(lines('POST'));
    expect(miss.decision).toBeUndefined();
    expect(miss.matches.map(({ id, message }) => [id, message])).toEqual([[2, '1']]);
  });

  test('setvar runs for each matched value', async () => {
    const { matches } = await run([
      'SecRule ARGS "@rx ." "id:1,phase:1,setvar:tx.n=+1,setvar:tx.last=%{MATCHED_VAR}"',
      'SecAction "id:2,phase:1,msg:\'%{tx.n} %{tx.last}\'"',
    ]);
    expect(matches[1]?.message).toBe('3 x y');
  });

  test('capture fills TX:0 to TX:9, and empties the others', async () => {
    const { matches } = await run([
      'SecRule REQUEST_FILENAME "@rx ^/(.)/(.)(x)?" "id:1,phase:1,capture,logdata:\'%{TX.0}|%{TX.1}|%{TX.2}|%{TX.3}\'"',
      'SecRule REQUEST_METHOD "@rx ^G" "id:2,phase:1,capture,logdata:\'%{TX.0}|%{TX.1}\'"',
      'SecRule REQUEST_METHOD "@pm post get" "id:3,phase:1,capture,logdata:\'%{TX.0}\'"',
    ]);
    expect(matches.map(({ logData }) => logData)).toEqual(['/a/b|a|b|', 'G|', 'GET']);
  });

  test('skip and skipAfter jump within their phase', async () => {
    const runAfter = (action: string) =>
      run([
        `SecAction "id:1,phase:1,${action}"`,
        'SecAction "id:9,phase:2"',
        'SecRule ARGS "x" "id:2,phase:1,chain"',
        ' SecRule ARGS "y"',
        'SecAction "id:3,phase:1"',
        'SecMarker END',
        'SecAction "id:4,phase:1"',
      ]);
    expect(idsOf(await runAfter('pass'))).toEqual([1, 2, 3, 4, 9]);
    expect(idsOf(await runAfter('skip:1'))).toEqual([1, 3, 4, 9]);
    expect(idsOf(await runAfter('skip:2'))).toEqual([1, 4, 9]);
    expect(idsOf(await runAfter('skipAfter:END'))).toEqual([1, 4, 9]);
    expect(idsOf(await runAfter('skipAfter:3'))).toEqual([1, 4, 9]);
    expect(idsOf(await runAfter('skipAfter:NOWHERE'))).toEqual([1, 9]);
  });

  test.each([
    ['deny', { type: 'deny', status: 403 }],
    ['deny,status:404', { type: 'deny', status: 404 }],
    ['drop', { type: 'drop', status: 0 }],
    [
      'redirect:https://e.example/%{REMOTE_ADDR}',
      { type: 'redirect', status: 302, location: 'https://e.example/192.0.2.1' },
    ],
    ['redirect:/x,status:307', { type: 'redirect', status: 307, location: '/x' }],
    ['block', { type: 'deny', status: 451 }],
    ['deny,pass', undefined],
    ['pass,drop', { type: 'drop' }],
  ])('%s', async (action, expected) => {
    const evaluation = await run([
      'SecDefaultAction "phase:1,deny,status:451"',
      `SecAction "id:1,phase:1,${action.startsWith('deny,pass') || action.includes('status') || action === 'block' ? action : `${action}${action === 'deny' ? ',status:403' : action.startsWith('redirect') ? ',status:302' : ''}`}"`,
      'SecAction "id:2,phase:1,pass"',
      'SecAction "id:3,phase:2,pass"',
      'SecAction "id:4,phase:5,pass"',
    ]);
    if (expected === undefined) expect(evaluation.decision).toBeUndefined();
    else expect(evaluation.decision).toMatchObject(expected);
    expect(idsOf(evaluation)).toEqual(expected === undefined ? [1, 2, 3, 4] : [1, 4]);
  });

  test.each([
    ['allow', [1, 5]],
    ['allow:request', [1, 4, 5]],
    ['allow:phase', [1, 3, 4, 5]],
  ])('%s', async (action, expected) => {
    const evaluation = await run([
      `SecAction "id:1,phase:1,${action}"`,
      'SecAction "id:2,phase:1,deny"',
      'SecAction "id:3,phase:2"',
      'SecAction "id:4,phase:3"',
      'SecAction "id:5,phase:5"',
    ]);
    expect(idsOf(evaluation)).toEqual(expected);
  });

  test('ctl changes the rules of one request', async () => {
    const rest = [
      'SecAction "id:2,phase:1,tag:a"',
      'SecAction "id:3,phase:1,tag:b"',
      'SecAction "id:14,phase:1,deny"',
    ];
    const runAfter = (control: string) => run([`SecAction "id:1,phase:1,ctl:${control}"`, ...rest]);
    expect(idsOf(await runAfter('ruleRemoveById=2-3'))).toEqual([1, 14]);
    expect(idsOf(await runAfter('ruleRemoveByTag=b'))).toEqual([1, 2, 14]);
    expect(idsOf(await runAfter('ruleEngine=Off'))).toEqual([1]);
    const detection = await runAfter('ruleEngine=DetectionOnly');
    expect([idsOf(detection), detection.decision]).toEqual([[1, 2, 3, 14], undefined]);
    expect((await runAfter('auditLogParts=+E')).decision?.status).toBe(403);
  });

  test('transformations run in order, t:none takes the default ones away, counts have none', async () => {
    const { matches } = await run([
      'SecDefaultAction "phase:1,pass,t:uppercase"',
      'SecRule REQUEST_METHOD|&ARGS "@unconditionalMatch" "id:1,phase:1,t:lowercase,t:length,msg:\'%{MATCHED_VAR}\'"',
      'SecRule REQUEST_FILENAME "@streq /A/B.PHP" "id:2,phase:1"',
      'SecRule REQUEST_FILENAME "@streq /a/b.php" "id:3,phase:1,t:none"',
    ]);
    expect(matches.map(({ id, message }) => [id, message])).toEqual([
      [1, '3'],
      [2, undefined],
      [3, undefined],
    ]);
  });

  test('what a rule says of itself reaches the log', async () => {
    const { matches } = await run(
      "SecAction \"id:7,phase:3,nolog,auditlog,tag:'t/%{REMOTE_ADDR}',severity:CRITICAL,msg:'%{rule.id} %{tx.none}.'\"",
    );
    expect(matches).toEqual([
      {
        id: 7,
        phase: 3,
        message: '7 .',
        logData: undefined,
        tags: ['t/192.0.2.1'],
        severity: 'CRITICAL',
        log: false,
        auditLog: true,
        file: 'rules',
        line: 1,
      },
    ]);
  });
});

test('the effects of a rule that cannot be finished are undone, those before it stay', async () => {
  const rules = compileRules(
    'SecAction "id:1,phase:1,setvar:tx.a=1"\nSecAction "id:2,phase:1,setvar:tx.b=1,initcol:ip=k"',
  );
  const backend = openMemory();
  const transaction = new Collections({ backend }).begin();
  await backend.close();
  const evaluation = rules.begin(transaction, REQUEST);
  expect(() => evaluation.run(1)).toThrow(expect.objectContaining({ code: 'closed' }));
  expect(transaction.list('tx')).toEqual([['a', '1']]);
});

describe('what a server tells', () => {
  const rules = compileRules('SecAction "id:1,phase:1"');
  const refused = (call: () => unknown) => {
    try {
      call();
    } catch (error) {
      return `${(error as { code: string }).code}: ${(error as Error).message}`;
    }
    return 'taken';
  };

  test.each([
    ['a fact of another name', { remoteAddr: '192.0.2.1' }, "no option 'remoteAddr'"],
    ['no address', { clientAddress: undefined }, 'clientAddress must be text'],
    ['no method', { method: undefined }, 'method must be text'],
    ['no URI', { uri: undefined }, 'uri must be text'],
    ['no version', { httpVersion: 1.1 }, 'httpVersion must be text'],
    ['a port as text', { clientPort: '80' }, 'clientPort must be an integer'],
    ['an id that is no text', { uniqueId: 7 }, 'uniqueId must be text'],
    ['no headers', { headers: undefined }, 'headers must be an array'],
    ['headers as node:http parses them', { headers: { host: 'x' } }, 'rawHeaders'],
    ['a header without a value', { headers: [['x', undefined]] }, 'headers must be an array'],
    ['a header with several', { headers: [['x', ['a', 'b']]] }, 'headers must be an array'],
  ])('is refused where it would blind the rules: %s', (_, facts, message) => {
    using transaction = collections.begin();
    const answer = refused(() => rules.begin(transaction, { ...REQUEST, ...facts } as never));
    expect(answer).toContain('invalid_option: ');
    expect(answer).toContain(message);
  });

  test('is refused where it is nothing at all', () => {
    using transaction = collections.begin();
    for (const facts of [undefined, null, 5, {}]) {
      expect(refused(() => rules.begin(transaction, facts as never))).toContain('invalid_option: ');
    }
    for (const none of [undefined, null, {}]) {
      expect(refused(() => rules.begin(none as never, REQUEST))).toContain('invalid_option: ');
      expect(refused(() => compileActions('setsid:a').apply(none as never, () => undefined))).toContain(
        'invalid_option: ',
      );
    }
    const evaluation = rules.begin(transaction, REQUEST);
    for (const body of [undefined, 'x']) {
      expect(refused(() => evaluation.setBody(body as never))).toContain('invalid_option: ');
    }
    for (const response of [undefined, {}, { status: '200', headers: [] }, { status: 200, headers: {} }]) {
      expect(refused(() => evaluation.setResponse(response as never))).toContain('invalid_option: ');
    }
  });

  test('comes phase by phase', () => {
    using transaction = collections.begin();
    const evaluation = rules.begin(transaction, REQUEST);
    for (const phase of [undefined, 0, 6, '1']) {
      expect(refused(() => evaluation.run(phase as never))).toContain('invalid_option: ');
    }
    evaluation.run(1);
    evaluation.run(3);
    for (const phase of [1, 2, 3] as const) {
      expect(refused(() => evaluation.run(phase))).toBe(
        `unsupported: run: phase ${phase} cannot follow phase 3; begin anew`,
      );
    }
    evaluation.run(5);
  });
});

test('a flood is blocked, for its client alone, until its time is over', async () => {
  const rules = `
    SecAction "id:1,phase:1,nolog,initcol:ip=%{REMOTE_ADDR}"
    SecRule IP:blocked "@eq 1" "id:2,phase:1,deny,status:429"
    SecAction "id:3,phase:1,nolog,setvar:ip.n=+1,expirevar:ip.n=60"
    SecRule IP:n "@gt 3" "id:4,phase:1,setvar:ip.blocked=1,expirevar:ip.blocked=600"`;
  const statuses: (number | undefined)[] = [];
  for (let index = 0; index < 6; index++) statuses.push((await run(rules)).decision?.status);
  expect(statuses).toEqual([undefined, undefined, undefined, undefined, 429, 429]);
  expect((await run(rules, { request: { clientAddress: '192.0.2.2' } })).decision).toBeUndefined();
  clock.advance(600);
  expect((await run(rules)).decision).toBeUndefined();
});
