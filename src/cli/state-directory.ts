import { lstatSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DATA_FILE } from '../backend/lmdb/layout.js';
import { WafStateError } from '../contract/errors.js';
import { errnoOf, systemError } from '../contract/system-error.js';

/**
 * The directory that holds a state, without symbolic links. One place, so that every command says the same of a path that is none. `option` is
 * where the path came from: `--path`. Throws `not_found`, `invalid_option` or `permission_denied`.
 */
export function stateDirectory(path: string, option: string): string {
  const directory = looked(path, option, () => realpathSync(path));
  if (!looked(path, option, () => statSync(directory)).isDirectory()) {
    throw refused('invalid_option', `${path} is no directory, and a state is one; check ${option}`);
  }
  looked(path, option, () => lstatSync(join(directory, DATA_FILE)));
  return directory;
}

/** The error for a directory without records, and for none at all. */
export function absentState(path: string, option: string, cause?: unknown): WafStateError {
  return refused('not_found', `there is no state at ${path}; check ${option}`, cause);
}

function looked<T>(path: string, option: string, look: () => T): T {
  try {
    return look();
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ENOENT' || errno === 'ENOTDIR') throw absentState(path, option, error);
    throw systemError(error, `look at ${path}`, { details: { option: 'path' } });
  }
}

function refused(code: 'not_found' | 'invalid_option', message: string, cause?: unknown): WafStateError {
  return new WafStateError(code, message, { details: { option: 'path' }, cause });
}
