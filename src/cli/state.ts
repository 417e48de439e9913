import { readFileSync } from 'node:fs';
import type { LmdbBackend } from '../backend/lmdb/lmdb-backend.js';
import { openLmdb } from '../backend/lmdb/open-lmdb.js';
import type { LmdbOptions } from '../backend/lmdb/options.js';
import { KeyDigest, secretBytes } from '../collections/key-digest.js';
import { type ByteString, decodeText, encodeText, fromBytes } from '../contract/bytes.js';
import { systemClock } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import { DEFAULT_LIMITS } from '../contract/limits.js';
import { COLLECTION_SPACES, type CollectionName, type RecordName, spaceName } from '../contract/space.js';
import { systemError } from '../contract/system-error.js';
import { type Arguments, type Option, UsageError } from './arguments.js';
import { REPLAY_APPLICATION } from './judge.js';
import { loadLogClock } from './log-clock.js';
import { absentState, stateDirectory } from './state-directory.js';
import { printable, unprintable } from './terminal.js';

/** The options that every command on a state directory takes. */
export const STATE_OPTIONS = {
  path: { type: 'path', placeholder: 'DIR', initial: './state', help: 'directory of the LMDB state' },
  at: {
    type: 'time',
    placeholder: 'TIME',
    help: "judge what has expired as of this time, such as 2026-01-31T12:00:00Z (default: now, or a replay's log clock)",
  },
} as const satisfies Record<string, Option>;

export const APPLICATION_OPTION = {
  application: {
    type: 'text',
    placeholder: 'ID',
    help: "application id of the records (default: none, or 'replay' in a replay's directory)",
  },
} as const satisfies Record<string, Option>;

/** Of the commands that name one record. */
export const RECORD_OPTIONS = {
  ...STATE_OPTIONS,
  ...APPLICATION_OPTION,
  'key-secret-file': {
    type: 'path',
    placeholder: 'FILE',
    help: "KEY was digested (option keyDigest of Collections) under the secret that is this file's content, every byte of it",
  },
} as const satisfies Record<string, Option>;

const MOST_APPLICATION_BYTES = 255;

/** An opened directory, and the time and the application that its commands go by. */
export interface State {
  readonly backend: LmdbBackend;
  /** Throws `corrupt_data` where that is the log clock's, which is corrupt. */
  now(): bigint;
  readonly application: ByteString;
}

/**
 * Opens the directory beside whoever uses it, does the work, and closes it again. It never creates one. What the work found is
 * printed after that, so that an error of the closing is all that is printed.
 */
export async function withState<T>(
  args: Arguments,
  access: 'read' | 'write',
  work: (state: State) => Promise<T>,
): Promise<T> {
  const path = args.text('path') as string;
  const directory = stateDirectory(path, '--path');
  const backend = await openState(directory, { create: false, readOnly: access === 'read' }).catch(
    (error: unknown) => {
      // A file that nobody has begun, which only a look into it tells.
      throw error instanceof WafStateError && error.code === 'not_found'
        ? absentState(path, '--path', error)
        : error;
    },
  );
  try {
    const logClock = await readLogClock(backend);
    const application = args.text('application') ?? (logClock === undefined ? '' : REPLAY_APPLICATION);
    return await work({
      backend,
      now: () => {
        const at = args.time('at');
        if (at === undefined && logClock instanceof WafStateError) throw logClock;
        return at ?? (logClock as bigint | undefined) ?? systemClock.now();
      },
      application: argumentBytes(application, '--application', MOST_APPLICATION_BYTES),
    });
  } finally {
    await backend.close();
  }
}

/** With the durability that the environment was made with, whichever it is. */
export async function openState(
  path: string,
  how: Pick<LmdbOptions, 'create' | 'readOnly' | 'mapSize'>,
): Promise<LmdbBackend> {
  const options = { path, cleanupInterval: 0, ...how };
  try {
    return await openLmdb(options);
  } catch (error) {
    if (!(error instanceof WafStateError && error.details.option === 'durability')) throw error;
    return openLmdb({ ...options, durability: 'relaxed' });
  }
}

/** The error where it is corrupt: that must not keep anybody from what needs no clock, nor from its removal. */
async function readLogClock(backend: LmdbBackend): Promise<bigint | WafStateError | undefined> {
  try {
    return await loadLogClock(backend);
  } catch (error) {
    if (!(error instanceof WafStateError && error.code === 'corrupt_data')) throw error;
    return new WafStateError(
      'corrupt_data',
      'the log clock of this replay is corrupt, so there is no time to judge by: give one with --at TIME; `wafstate delete global log-clock --at TIME` removes it',
      { details: error.details, cause: error },
    );
  }
}

/** The bytes that an argument stands for; `name` is its own, `most` the longest that it may be. Throws `UsageError`. */
export function argumentBytes(argument: string, name: string, most: number): ByteString {
  const broken = argument.search(/%(?![0-9a-fA-F]{2})/);
  if (broken >= 0) {
    throw new UsageError(
      `${name} has a % that begins no byte, at character ${broken + 1}: after it stand two hexadecimal digits, and % itself is %25`,
    );
  }
  const bytes = fromBytes(unprintable(argument));
  if (bytes.length <= most) return bytes;
  throw new UsageError(`${name} is ${bytes.length} bytes long, the most is ${most}`);
}

export function collectionSpace(argument: string): number {
  const name = argument.toLowerCase();
  if (Object.hasOwn(COLLECTION_SPACES, name)) return COLLECTION_SPACES[name as CollectionName];
  throw new UsageError(
    `a collection is one of ${Object.keys(COLLECTION_SPACES).join(', ')}, got '${argument}'`,
  );
}

/** The record that `COLLECTION KEY` on the command line names. */
export function recordArgument(args: Arguments, application: ByteString): RecordName {
  const [collection, key] = args.operands as [string, string];
  const file = args.text('key-secret-file');
  const name = {
    space: collectionSpace(collection),
    applicationId: application,
    key: argumentBytes(key, 'KEY', DEFAULT_LIMITS.keyBytes),
  };
  if (file === undefined) return name;
  const digest = new KeyDigest(secretBytes(readSecret(file)));
  return { ...name, key: digest.of(name.space, name.applicationId, name.key) };
}

function readSecret(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw systemError(error, `read the secret in ${file}`, { details: { option: 'key-secret-file' } });
  }
}

/** A record's name for output; a key is opaque bytes, so it is percent-encoded where it is not plain ASCII. */
export function describeRecord({ space, applicationId, key }: RecordName) {
  return { collection: spaceName(space), application: printable(applicationId), key: printable(key) };
}

/** Text as it is where it survives UTF-8, else percent-encoded: for JSON, whose strings escape what terminals obey. */
export function describeValue(value: ByteString): string {
  const text = decodeText(value);
  return encodeText(text) === value ? text : printable(value);
}
