import { openSync } from 'node:fs';
import { constants } from 'node:os';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { errnoOf, systemError } from '../../src/contract/system-error.js';

function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error('it did not throw');
}

describe('an error of the operating system', () => {
  const error = thrownBy(() => openSync('/nonexistent/file.partial', 'r'));

  it('has the name of its errno', () => {
    expect(errnoOf(error)).toBe('ENOENT');
  });

  it('says in words what was tried, without the text of the system', () => {
    const { code, message, details, cause } = systemError(error, 'read the log x', {
      owner: 'openLmdb',
      details: { option: 'path' },
    });
    expect(code).toBe('not_found');
    expect(message).toBe(
      'openLmdb: cannot read the log x: there is no such file or directory (ENOENT); check the path',
    );
    expect(details).toEqual({ option: 'path' });
    expect(cause).toBe(error);
  });

  it.each(Object.entries(constants.errno))('%s has a code and a way out', (name, number) => {
    const { code, message } = systemError(
      Object.assign(new Error('raw'), { code: name, errno: -number }),
      'do it',
    );
    expect(code).toMatch(
      /^(not_found|already_exists|permission_denied|invalid_option|capacity_exceeded|unavailable)$/,
    );
    expect(message).toMatch(new RegExp(`^cannot do it: .+ \\(${name}\\); .+`));
    expect(message).not.toContain('raw');
  });
});

describe('any other error', () => {
  it.each([
    ['of zlib', thrownBy(() => gunzipSync(Buffer.from('no gzip')))],
    ['of Node', thrownBy(() => Buffer.alloc(-1))],
    ['of a program', new Error('ENOENT')],
    ['that is none', 'ENOENT'],
  ])('%s has no errno', (_, error) => {
    expect(errnoOf(error)).toBeUndefined();
  });
});
