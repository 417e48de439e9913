import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES, type ErrorCode, type ErrorKind, WafStateError } from '../../src/contract/errors.js';

/** The table of the design: code, kind, retryable. */
const TABLE: Record<ErrorCode, [ErrorKind, boolean]> = {
  invalid_key: ['invalid', false],
  invalid_mutation: ['invalid', false],
  invalid_limit: ['invalid', false],
  invalid_option: ['invalid', false],
  not_initialized: ['invalid', false],
  already_bound: ['invalid', false],
  abi_mismatch: ['invalid', false],
  missing_feature: ['invalid', false],
  unsupported: ['invalid', false],
  not_found: ['not_found', false],
  already_exists: ['already_exists', false],
  permission_denied: ['permission_denied', false],
  conflict: ['conflict', true],
  retry_limit_exceeded: ['conflict', true],
  unavailable: ['unavailable', true],
  queue_full: ['unavailable', true],
  store_full: ['unavailable', true],
  closed: ['unavailable', false],
  writer_lost: ['unavailable', false],
  timeout: ['timeout', true],
  capacity_exceeded: ['capacity', false],
  corrupt_data: ['corrupt', false],
};

const headings = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
  .split('\n### ')
  .slice(1);

describe('WafStateError', () => {
  it('knows exactly the codes of the table', () => {
    expect([...ERROR_CODES].sort()).toEqual(Object.keys(TABLE).sort());
  });

  it.each(Object.entries(TABLE))('%s has its kind and tells whether to retry', (code, [kind, retryable]) => {
    const error = new WafStateError(code as ErrorCode, 'message');
    expect(error.kind).toBe(kind);
    expect(error.retryable).toBe(retryable);
  });

  it('keeps details, cause and settled', () => {
    const cause = new Error('below');
    const settled = Promise.resolve('applied' as const);
    const error = new WafStateError('timeout', 'late', { details: { outcome: 'unknown' }, cause, settled });
    expect(error.name).toBe('WafStateError');
    expect(error.message).toBe('late');
    expect(error.details).toEqual({ outcome: 'unknown' });
    expect(error.cause).toBe(cause);
    expect(error.settled).toBe(settled);
  });

  it('has no cause of its own and empty details', () => {
    const error = new WafStateError('closed', 'closed');
    expect('cause' in error).toBe(false);
    expect(error.details).toEqual({});
    expect(error.settled).toBeUndefined();
  });

  it('is an Error, and nothing else is a WafStateError', () => {
    const error: unknown = new WafStateError('closed', 'closed');
    expect(error).toBeInstanceOf(Error);
    expect(error instanceof WafStateError).toBe(true);
    for (const other of [new Error('closed'), { code: 'closed' }, 'closed', null, undefined]) {
      expect(other instanceof WafStateError).toBe(false);
    }
  });
});

describe('docs/errors.md', () => {
  it('has one heading for each code', () => {
    expect(headings.map((section) => section.split('\n')[0]).sort()).toEqual([...ERROR_CODES].sort());
  });

  it.each(Object.entries(TABLE))('tells the kind of %s and whether to retry', (code, [kind, retryable]) => {
    const section = headings.find((text) => text.startsWith(`${code}\n`));
    expect(section).toContain(`Kind ${kind}, ${retryable ? 'retryable' : 'not retryable'}.`);
  });
});
