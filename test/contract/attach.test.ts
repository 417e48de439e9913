import { describe, expect, it } from 'vitest';
import { ABI_VERSION, attach, type Backend, conflict } from '../../src/contract/backend.js';
import type { ByteString } from '../../src/contract/bytes.js';
import type { WafStateError } from '../../src/contract/errors.js';
import type { Feature } from '../../src/contract/features.js';

function backend(abiVersion: number, features: Feature[]): Backend {
  const unused = () => Promise.reject(new Error('not called'));
  return {
    abiVersion,
    name: 'theirs',
    features: new Set(features),
    load: unused,
    commit: unused,
    cleanup: unused,
    scan: unused,
    close: unused,
  };
}

function refused(action: () => void): WafStateError {
  try {
    action();
  } catch (error) {
    return error as WafStateError;
  }
  throw new Error('accepted');
}

describe('attach', () => {
  it('accepts a backend of this version with every required feature', () => {
    attach(backend(ABI_VERSION, ['atomic_batches']));
    attach(backend(ABI_VERSION, ['atomic_batches', 'ordered_scan']), ['ordered_scan']);
  });

  it.each([ABI_VERSION - 1, ABI_VERSION + 1])('refuses version %s', (version) => {
    const error = refused(() => attach(backend(version, [])));
    expect(error.code).toBe('abi_mismatch');
    expect(error.details).toEqual({ limit: ABI_VERSION, actual: version });
  });

  it('refuses a missing feature, and names all that are missing', () => {
    const error = refused(() =>
      attach(backend(ABI_VERSION, ['atomic_batches']), ['atomic_batches', 'durable_storage', 'ordered_scan']),
    );
    expect(error.code).toBe('missing_feature');
    expect(error.message).toContain('lacks durable_storage, ordered_scan');
    expect(error.details.option).toBe('durable_storage');
  });
});

describe('conflict', () => {
  const record = { space: 1, applicationId: '' as ByteString, key: 'secret-key' as ByteString };

  it('names the collection and both revisions, never the key', () => {
    const error = conflict(record, 7, 9);
    expect(error.code).toBe('conflict');
    expect(error.details).toEqual({ space: 'ip', limit: 7, actual: 9 });
    expect(error.message).not.toContain('secret-key');
  });

  it('has no expected revision where none was named', () => {
    expect(conflict({ ...record, space: 17 }, 'absent', 9).details).toEqual({ space: 'store 17', actual: 9 });
  });
});
