import { describe, expect, test } from 'vitest';
import { WafStateError } from '../../src/contract/errors.js';
import { formatDuration, parseDuration } from '../../src/store/config/duration.js';
import { checkStores } from '../../src/store/config/entries.js';

function refusal(source: unknown): string {
  try {
    checkStores(source as string);
  } catch (error) {
    if (error instanceof WafStateError && error.kind === 'invalid') return error.message;
    throw error;
  }
  throw new Error('the configuration was taken');
}

const WHOLE = `
version: "1.0"
namespace: app
entries:
  - name: state
    kind: engine.lmdb
    path: ./state
  - name: cache
    kind: store.memory
    max_size: 500
    cleanup_interval: 1h30m
  - name: sessions
    kind: store.lmdb
    database: state
    namespace: sessions
    lifecycle:
      auto_start: true
`;

describe('a configuration', () => {
  test('is read with its defaults', () => {
    expect(checkStores(WHOLE)).toEqual([
      {
        id: 'app:state',
        kind: 'engine.lmdb',
        autoStart: false,
        config: { path: './state', map_size: 2 ** 30, durability: 'durable' },
      },
      {
        id: 'app:cache',
        kind: 'store.memory',
        autoStart: false,
        config: { max_size: 500, cleanup_interval: '1h30m' },
      },
      {
        id: 'app:sessions',
        kind: 'store.lmdb',
        autoStart: true,
        config: { database: 'state', namespace: 'sessions', cleanup_interval: '1m' },
      },
    ]);
  });

  test('may be an object, and its entries may refer to each other by their whole id', () => {
    const entries = [
      { name: 'a', kind: 'store.lmdb', database: 'x:b', namespace: 'n' },
      { name: 'b', kind: 'engine.lmdb', path: 'p' },
    ];
    expect(checkStores({ namespace: 'x', entries }).map(({ id }) => id)).toEqual(['x:a', 'x:b']);
    expect(checkStores({ entries: [] })).toEqual([]);
  });

  test.each([
    [
      WHOLE.replace('max_size', 'max_sise'),
      "entry 'app:cache', line 10: max_sise: there is no such field; did you mean 'max_size'?",
    ],
    [
      WHOLE.replace('1h30m', 'soon'),
      "entry 'app:cache', line 11: cleanup_interval: must be a duration such as 250ms, 5m or 1h30m",
    ],
    [WHOLE.replace('1h30m', '300'), 'cleanup_interval: must be text with a unit, such as "300s", got 300'],
    [WHOLE.replace('1h30m', '25h'), 'cleanup_interval: must be from 1ms to 24h'],
    [
      WHOLE.replace('namespace: sessions', 'namespace: _sys'),
      "entry 'app:sessions', line 15: namespace: namespaces that begin with _ are reserved",
    ],
    [
      WHOLE.replace('database: state', 'database: stat'),
      "database: there is no entry 'app:stat'; it must name an entry of kind engine.lmdb: app:state",
    ],
    [
      WHOLE.replace('database: state', 'database: cache'),
      "'app:cache' is a store.memory; it must name an entry of kind engine.lmdb",
    ],
    [
      WHOLE.replace('store.memory', 'store.memry'),
      "kind: there is no kind 'store.memry'; did you mean 'store.memory'? the kinds are store.memory, store.lmdb, engine.lmdb",
    ],
    [WHOLE.replace('store.memory', 'store.kv.raft'), "there is no kind 'store.kv.raft'"],
    [
      WHOLE.replace('auto_start: true', 'auto_start: yes'),
      "entry 'app:sessions': lifecycle, line 17: auto_start: must be true or false, got text",
    ],
    [WHOLE.replace('auto_start', 'autostart'), "did you mean 'auto_start'?"],
    [
      WHOLE.replace('path: ./state', 'path: p\n    map_size: 1024'),
      'map_size: must be an integer from 1048576',
    ],
    [
      WHOLE.replace('    path: ./state\n', ''),
      "entry 'app:state': path: is required: the name of a directory",
    ],
    [WHOLE.replace('name: cache', 'name: state'), "entry 'app:state', line 8: name: stands twice"],
    [WHOLE.replace('name: cache', 'name: a/b'), 'entry 2, line 8: name: must be a letter or digit'],
    [WHOLE.replace('"1.0"', '"2.0"'), 'the configuration of stores, line 2: version: must be 1.0'],
    [WHOLE.replace('namespace: app', 'namespce: app'), "did you mean 'namespace'?"],
    [
      WHOLE.replace('kind: engine.lmdb', 'kind: engine.lmdb\n    lifecycle: {}'),
      'lifecycle: an engine is open as long as one of its stores runs',
    ],
    ['entries: 5', 'entries: must be a list of entries, got 5'],
    ['entries: [5]', 'entry 1 must be a mapping of fields, got 5'],
    ['[]', 'the configuration of stores must be a mapping of fields, got a list'],
    ['', 'one YAML document, got 0'],
    ['~', 'the configuration of stores must be a mapping of fields, got nothing'],
    ['namespace: a\nentries: []\n---\nentries: []', 'one YAML document, got 2'],
    ['entries: []\nentries: []', 'no YAML: line 2, column 1: DUPLICATE_KEY'],
    ['entries: [', 'is no YAML: line 1'],
    ['entries: !!js/function "x"', 'is no YAML: line 1, column 10: TAG_RESOLVE_FAILED'],
    [null, 'YAML text or an object, got null'],
    [7, 'YAML text or an object, got a number'],
  ])('that is wrong is refused with the place and the way out (%#)', (source, message) => {
    expect(refusal(source)).toContain(message);
  });

  test('shows nothing of its text in a refusal', () => {
    expect(refusal('entries: [{ password: hunter2, name: x')).not.toContain('hunter2');
    expect(
      refusal({ entries: [{ name: 'x', kind: 'engine.lmdb', path: 'p', map_size: 'hunter2' }] }),
    ).not.toContain('hunter2');
  });
});

describe('a hostile configuration', () => {
  test('that stands for a billion laughs is refused', () => {
    const lines = ['a0: &a0 ha'];
    for (let level = 1; level < 30; level++) {
      lines.push(`a${level}: &a${level} [${Array.from({ length: 10 }, () => `*a${level - 1}`).join(', ')}]`);
    }
    expect(refusal(lines.join('\n'))).toContain('more than 100 nodes by alias');
  });

  test('that is nested without end is refused', () => {
    expect(refusal('['.repeat(100_000))).toMatch(/nested too deeply|is no YAML/);
    expect(refusal(`entries: ${'['.repeat(50_000)}${']'.repeat(50_000)}`)).toMatch(
      /nested too deeply|is no YAML/,
    );
    expect(refusal(`entries: ${'{a: '.repeat(5000)}${'}'.repeat(5000)}`)).toMatch(
      /nested too deeply|is no YAML|must be/,
    );
  });

  test('that is too long is refused before it is read', () => {
    expect(refusal(' '.repeat(2 ** 20 + 1))).toContain('may have 1048576 characters');
  });

  test('reaches no prototype', () => {
    expect(refusal('__proto__: {entries: []}')).toContain('__proto__: there is no such field');
    expect(refusal('entries: [{name: x, kind: store.memory, __proto__: {polluted: 1}}]')).toContain(
      '__proto__',
    );
    expect(
      refusal(JSON.parse('{"entries": [{"name": "x", "kind": "store.memory", "constructor": 1}]}')),
    ).toContain('constructor');
    expect(refusal({ entries: [{ name: 'x', kind: 'toString' }] })).toContain("no kind 'toString'");
    expect('polluted' in {}).toBe(false);
    expect(refusal(Object.create({ entries: [] }))).toContain('entries: must be a list');
  });

  test('with merge keys, other names than text and cycles is refused', () => {
    expect(refusal('x: &x {entries: []}\n<<: *x')).toMatch(/no such field/);
    expect(refusal('? [a]\n: b')).toContain('is no YAML');
    expect(refusal('entries: &a [*a]')).toMatch(/mapping|alias|YAML/);
  });
});

describe('a duration', () => {
  test.each([
    ['250ms', 250],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['1.5s', 1500],
    ['0s', 0],
    ['0', 0],
  ])('%s is %i ms', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
    expect(parseDuration(formatDuration(milliseconds))).toBe(milliseconds);
  });

  test.each(['', '5', '-5m', 'm', '5 m', '5d', '1e3s', '5m\n', '∞', '5M', `${'1s'.repeat(1000)}`])(
    '%j is none',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});
