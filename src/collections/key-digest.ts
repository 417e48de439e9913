import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { type ByteString, encodeText, fromBytes, toBytes } from '../contract/bytes.js';
import { WafStateError } from '../contract/errors.js';
import type { Limits } from '../contract/limits.js';
import { refuseUnknownOptions } from '../contract/options.js';
import type { CollectionName } from '../contract/space.js';
import { type Text, toPersistentSpace } from './input.js';

export interface KeyDigestOptions {
  /** The operator's, 16 to 1024 bytes, text as UTF-8. Whoever has it can tell which record is whose; another one finds no record. */
  readonly secret: Text;
  /** Whose keys are digested. Default: session and user. */
  readonly collections?: readonly CollectionName[] | undefined;
}

const OWNER = 'keyDigest';
const LEAST_SECRET_BYTES = 16;
const MOST_SECRET_BYTES = 1024;
const DIGEST_BYTES = 32;
const DEFAULT_COLLECTIONS: readonly CollectionName[] = ['session', 'user'];

/**
 * Names records by a digest of their key, so that who reads the files of an engine learns no session id and no user's name, and can not
 * try them out either without the secret.
 *
 *     digest = HMAC-SHA-256(secret, space:u8 · length of the application id:u8 · application id · key)
 *
 * The space and the application stand in it so that a user's name that is also a session's key gives two digests that nobody can bring
 * together. A digest costs a few microseconds.
 */
export class KeyDigest {
  readonly #secret: KeyObject;

  /** `secret` is what `secretBytes` has checked. */
  constructor(secret: Uint8Array) {
    this.#secret = createSecretKey(secret);
  }

  /** The key that the engine sees: 32 bytes. */
  of(space: number, applicationId: ByteString, key: ByteString): ByteString {
    const hmac = createHmac('sha256', this.#secret)
      .update(Uint8Array.of(space, applicationId.length))
      .update(applicationId, 'latin1')
      .update(key, 'latin1');
    return fromBytes(hmac.digest());
  }
}

/** By space; undefined where keys are kept as they are. */
export type KeyDigests = readonly (KeyDigest | undefined)[];

/** Throws `invalid_option`. */
export function resolveKeyDigests(options: KeyDigestOptions | undefined, limits: Limits): KeyDigests {
  if (options === undefined) return [];
  if (typeof options !== 'object' || options === null) {
    throw invalid(OWNER, `${OWNER} takes an object, at least { secret }`);
  }
  refuseUnknownOptions(OWNER, options, ['secret', 'collections']);
  const { secret, collections = DEFAULT_COLLECTIONS } = options;
  const digest = new KeyDigest(secretBytes(secret));
  if (!Array.isArray(collections) || collections.length === 0) {
    throw invalid(
      `${OWNER}.collections`,
      `${OWNER}: collections must be an array of at least one collection; leave keyDigest out to digest none`,
    );
  }
  if (limits.keyBytes < DIGEST_BYTES) {
    throw new WafStateError(
      'invalid_option',
      `${OWNER}: a digest has ${DIGEST_BYTES} bytes, the limit keyBytes allows ${limits.keyBytes}; raise it`,
      { details: { option: OWNER, limit: limits.keyBytes, actual: DIGEST_BYTES } },
    );
  }
  const digests: (KeyDigest | undefined)[] = [];
  for (const collection of collections) digests[toPersistentSpace(collection, OWNER)] = digest;
  return digests;
}

/** Throws `invalid_option`; the secret never stands in the message. */
export function secretBytes(secret: Text): Uint8Array {
  const bytes = typeof secret === 'string' ? bytesOfText(secret) : secret;
  if (!(bytes instanceof Uint8Array)) {
    throw invalid(`${OWNER}.secret`, `${OWNER}: secret must be a Uint8Array or well-formed text`);
  }
  if (bytes.length >= LEAST_SECRET_BYTES && bytes.length <= MOST_SECRET_BYTES) return bytes;
  throw new WafStateError(
    'invalid_option',
    `${OWNER}: secret must have ${LEAST_SECRET_BYTES} to ${MOST_SECRET_BYTES} bytes, got ${bytes.length}; make one with \`openssl rand 32\``,
    {
      details: {
        option: `${OWNER}.secret`,
        limit: bytes.length < LEAST_SECRET_BYTES ? LEAST_SECRET_BYTES : MOST_SECRET_BYTES,
        actual: bytes.length,
      },
    },
  );
}

function bytesOfText(text: string): Uint8Array | undefined {
  const bytes = encodeText(text);
  return bytes === undefined ? undefined : toBytes(bytes);
}

function invalid(option: string, message: string): WafStateError {
  return new WafStateError('invalid_option', message, { details: { option } });
}
