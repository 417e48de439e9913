import { expect, describe as group, it } from 'vitest';
import { type CommandSpec, describe, parseCommandLine, UsageError } from '../../src/cli/arguments.js';

const SPEC: CommandSpec = {
  name: 'demo',
  summary: 'Shows.',
  operands: ['COLLECTION', 'KEY?'],
  options: {
    path: { type: 'text', placeholder: 'DIR', initial: './state', help: 'where' },
    engine: { type: 'choice', choices: ['lmdb', 'memory'], help: 'what' },
    limit: { type: 'integer', placeholder: 'N', initial: 30, least: 1, most: 100, help: 'how many' },
    at: { type: 'time', placeholder: 'TIME', help: 'when' },
    all: { type: 'flag', help: 'everything' },
  },
  notes: 'An example.',
};

function parse(...argv: string[]) {
  return parseCommandLine(SPEC, argv);
}

group('a command line', () => {
  it('gives what was said, and the initial value of what was not', () => {
    const args = parse('ip', '--limit', '5', '--engine=memory', '--all', '--at', '2026-01-31T12:00:00Z');
    expect(args.operands).toEqual(['ip']);
    expect(args.text('path')).toBe('./state');
    expect(args.text('engine')).toBe('memory');
    expect(args.integer('limit')).toBe(5);
    expect(args.flag('all')).toBe(true);
    expect(args.flag('json')).toBe(false);
    expect(args.time('at')).toBe(1_769_860_800_000_000_000n);
  });

  it('takes an argument after --', () => {
    expect(parse('ip', '--', '--limit').operands).toEqual(['ip', '--limit']);
  });

  it.each([
    [['ip', '--limt', '5'], 'unknown option --limt'],
    [['ip', '-x'], 'unknown option -x;'],
    [['ip', '--toString'], 'unknown option --toString;'],
    [['ip', '--at', '2026-02-30'], '--at is a time like'],
    [['ip', '--at', '2263-01-01'], '2262'],
    [['ip', '--limit', '-1'], "--limit is an integer from 1 to 100, got '-1'"],
    [['ip', '--path', '-x'], 'given as --path=-x'],
    [['ip', '--path', '--all'], '--path takes a value'],
    [['ip', '--at', '-1'], '--at is a time like'],
    [['ip', '--engine', '-1'], '--engine is one of lmdb, memory'],
    [[''], 'COLLECTION of'],
    [['ip', '--limit', '0'], '--limit is an integer from 1 to 100'],
    [['ip', '--limit', '101'], '--limit is an integer from 1 to 100'],
    [['ip', '--limit', '1e1'], '--limit is an integer'],
    [['ip', '--limit', ''], '--limit is an integer'],
    [['ip', '--limit'], "Option '--limit <value>' argument missing"],
    [['ip', '--engine', 'redis'], '--engine is one of lmdb, memory'],
    [['ip', '--at', 'yesterday'], '--at is a time like'],
    [['ip', '--at', '2026-01-31T12:00:00'], '--at is a time like'],
    [['ip', '--all=yes'], '--all'],
    [[], 'COLLECTION KEY?'],
    [['ip', 'a', 'b'], 'got 3'],
  ])('%j is refused and told what is right', (argv, message) => {
    expect(() => parse(...argv)).toThrow(UsageError);
    expect(() => parse(...argv)).toThrow(message);
  });

  it('that asks for help needs no arguments', () => {
    expect(parse('--help').flag('help')).toBe(true);
  });
});

group('the help of a command', () => {
  it('shows arguments, every option with its default, and the notes', () => {
    const help = describe(SPEC);
    expect(help).toContain('wafstate demo COLLECTION [KEY] [options]');
    for (const part of [
      '--path DIR',
      '(default ./state)',
      '--engine lmdb|memory',
      '--limit N',
      '--json',
      'An example.',
    ]) {
      expect(help).toContain(part);
    }
  });
});
