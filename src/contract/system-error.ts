import { getSystemErrorMap } from 'node:util';
import { type ErrorCode, type ErrorDetails, WafStateError } from './errors.js';

/** What an errno means to whoever gave the path, and what becomes of it. */
interface Reason {
  readonly code: ErrorCode;
  readonly words: string;
  readonly advice: string;
}

const CHECK_PATH = 'check the path';
const GRANT = 'grant it to this user, or choose another path';
const FREE_SPACE = 'free some space';
const TOO_MANY_FILES = 'close some, or raise the limit (ulimit -n)';

const REASONS: Readonly<Record<string, Reason>> = {
  ENOENT: { code: 'not_found', words: 'there is no such file or directory', advice: CHECK_PATH },
  ENOTDIR: { code: 'invalid_option', words: 'a part of the path is no directory', advice: CHECK_PATH },
  EISDIR: { code: 'invalid_option', words: 'it is a directory', advice: CHECK_PATH },
  ELOOP: { code: 'invalid_option', words: 'a symbolic link stands in the way', advice: CHECK_PATH },
  ENAMETOOLONG: { code: 'invalid_option', words: 'the name is too long', advice: CHECK_PATH },
  EEXIST: { code: 'already_exists', words: 'it is there already', advice: 'choose another name' },
  ENOTEMPTY: { code: 'already_exists', words: 'it is there already', advice: 'choose another name' },
  EACCES: { code: 'permission_denied', words: 'permission is denied', advice: GRANT },
  EPERM: { code: 'permission_denied', words: 'it is not permitted', advice: GRANT },
  EROFS: { code: 'permission_denied', words: 'the file system is read-only', advice: 'choose another path' },
  ENOSPC: { code: 'capacity_exceeded', words: 'the disk is full', advice: FREE_SPACE },
  EDQUOT: { code: 'capacity_exceeded', words: 'the quota is used up', advice: FREE_SPACE },
  EFBIG: { code: 'capacity_exceeded', words: 'the file may not grow so large', advice: 'raise the limit' },
  EMFILE: { code: 'unavailable', words: 'the process has too many files open', advice: TOO_MANY_FILES },
  ENFILE: { code: 'unavailable', words: 'the system has too many files open', advice: 'close some' },
  EADDRINUSE: {
    code: 'unavailable',
    words: 'the address is in use',
    advice: 'end what uses it, or choose another',
  },
  EADDRNOTAVAIL: {
    code: 'invalid_option',
    words: 'this machine has no such address',
    advice: 'choose another',
  },
  EIO: { code: 'unavailable', words: 'the disk reports an error', advice: 'check the disk' },
};

/** One that needs no words of ours: the system's for its number. */
function otherReason(cause: unknown): Reason {
  const errno = cause instanceof Error && 'errno' in cause ? Number(cause.errno) : 0;
  const words = getSystemErrorMap().get(errno)?.[1] ?? 'the system refuses';
  return { code: 'unavailable', words, advice: 'mend that, and try again' };
}

/** The name of the errno, such as `ENOENT`, of an error by the operating system; undefined of any other. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && 'errno' in error)) return undefined;
  const { code } = error;
  // Errors of zlib look the same, and are of no file.
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}

/**
 * The error for what the operating system refused. `attempt` is what was tried, as it follows `cannot`: `read the log x`. The message has the
 * errno in words and by its name, and the way out; the system's own text, which names files nobody asked for, stays in `cause`.
 */
export function systemError(
  cause: unknown,
  attempt: string,
  { owner, details = {} }: { readonly owner?: string; readonly details?: ErrorDetails } = {},
): WafStateError {
  const errno = errnoOf(cause);
  const { code, words, advice } = (errno === undefined ? undefined : REASONS[errno]) ?? otherReason(cause);
  return new WafStateError(
    code,
    `${owner === undefined ? '' : `${owner}: `}cannot ${attempt}: ${words} (${errno ?? 'unknown cause'}); ${advice}`,
    { details, cause },
  );
}
