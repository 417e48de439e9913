import { attach, type Backend } from '../contract/backend.js';
import { type ByteString, encodeText, fromBytes } from '../contract/bytes.js';
import { type Clock, TEN_YEARS } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import { FEATURES, type Feature } from '../contract/features.js';
import { type Limits, resolveLimits } from '../contract/limits.js';
import { choiceOption, clockOption, numberOption, refuseUnknownOptions } from '../contract/options.js';
import { COLLECTION_SPACES, type CollectionName, MAX_APPLICATION_ID_BYTES } from '../contract/space.js';
import { type Text, toNanoseconds } from './input.js';
import { type KeyDigestOptions, resolveKeyDigests } from './key-digest.js';
import type { Settings } from './settings.js';

export interface CollectionsOptions {
  readonly backend: Backend;
  /** Each left out has its default. */
  readonly limits?: Partial<Limits> | undefined;
  /**
   * What a failure of the backend does to a request. `fail_closed` (default): it rejects. `fail_open`: failures of the kinds
   * unavailable, timeout, conflict, corrupt and capacity let it go on, and `lastPersistentFailure` keeps them.
   */
  readonly failurePolicy?: 'fail_closed' | 'fail_open' | undefined;
  /** The backend is refused at once, with `missing_feature`, if it lacks one. */
  readonly requiredFeatures?: readonly Feature[] | undefined;
  /** Default: the system's clock. */
  readonly clock?: Clock | undefined;
  /** Part of every record's identity: applications that share an engine do not share records. 0 to 255 bytes, default none. */
  readonly applicationId?: Text | undefined;
  /**
   * Seconds after its last commit that a record is gone, by collection, for records that are made from now on. More than 0,
   * fractions allowed, at most ten years. Default: none, a record stays as long as it has variables.
   */
  readonly timeouts?: Partial<Readonly<Record<CollectionName, number>>> | undefined;
  /**
   * Keep records under an HMAC-SHA-256 of their key instead of the key, by default those of session and user. `KEY`, `sessionId` and
   * `userId` still give the key itself, within the transaction that was given it. Default: keys are stored as they are.
   */
  readonly keyDigest?: KeyDigestOptions | undefined;
}

const OWNER = 'Collections';
const OPTIONS = [
  'backend',
  'limits',
  'failurePolicy',
  'requiredFeatures',
  'clock',
  'applicationId',
  'timeouts',
  'keyDigest',
] as const satisfies readonly (keyof CollectionsOptions)[];

const TIMEOUT_RANGE = { initial: 0, least: 1e-9, most: TEN_YEARS, unit: 'seconds', fractions: true };

/** Throws `invalid_option`, `invalid_limit`, `abi_mismatch` or `missing_feature`. */
export function resolveSettings(options: CollectionsOptions): Settings {
  refuseUnknownOptions(OWNER, options, OPTIONS);
  const { backend, requiredFeatures = [] } = options;
  if (typeof backend?.load !== 'function' || typeof backend.commit !== 'function') {
    throw invalid(
      'backend',
      'Collections: backend must be an opened engine, such as await openLmdb({ path })',
    );
  }
  if (!Array.isArray(requiredFeatures)) {
    throw invalid(
      'requiredFeatures',
      `Collections: requiredFeatures must be an array of ${FEATURES.join(', ')}`,
    );
  }
  for (const feature of requiredFeatures) {
    if (!FEATURES.includes(feature)) {
      throw invalid(
        'requiredFeatures',
        `Collections: there is no feature ${typeof feature === 'string' ? `'${feature}'` : `of type ${typeof feature}`}; the features are ${FEATURES.join(', ')}`,
      );
    }
  }
  attach(backend, requiredFeatures);
  const { features } = backend;
  const limits = resolveLimits(options.limits);
  return Object.freeze({
    backend,
    limits,
    clock: clockOption(OWNER, options.clock),
    applicationId: applicationId(options.applicationId),
    failOpen:
      choiceOption(OWNER, 'failurePolicy', options.failurePolicy, ['fail_closed', 'fail_open']) ===
      'fail_open',
    timeouts: timeoutsBySpace(options.timeouts ?? {}),
    keyDigests: resolveKeyDigests(options.keyDigest, limits),
    rebasesServerSide: features.has('server_side_rebase'),
    commitsTogether: features.has('multi_record_atomicity'),
    commitsAtOnce:
      backend.commitSync !== undefined &&
      features.has('server_side_rebase') &&
      features.has('multi_record_atomicity'),
    keepsDeadlines: features.has('hard_deadlines'),
  });
}

function applicationId(given: Text = ''): ByteString {
  const bytes =
    typeof given === 'string'
      ? encodeText(given)
      : given instanceof Uint8Array
        ? fromBytes(given)
        : undefined;
  if (bytes !== undefined && bytes.length <= MAX_APPLICATION_ID_BYTES) return bytes;
  throw new WafStateError(
    'invalid_option',
    `Collections: applicationId must be well-formed text or a Uint8Array of at most ${MAX_APPLICATION_ID_BYTES} bytes${bytes === undefined ? '' : `, got ${bytes.length}`}`,
    {
      details: {
        option: 'applicationId',
        limit: MAX_APPLICATION_ID_BYTES,
        ...(bytes !== undefined && { actual: bytes.length }),
      },
    },
  );
}

function timeoutsBySpace(timeouts: NonNullable<CollectionsOptions['timeouts']>): (bigint | undefined)[] {
  const names = Object.keys(COLLECTION_SPACES) as CollectionName[];
  refuseUnknownOptions(`${OWNER}: timeouts`, timeouts, names);
  const bySpace: (bigint | undefined)[] = Array.from({ length: names.length + 1 }, () => undefined);
  for (const name of names) {
    const seconds = timeouts[name];
    if (seconds === undefined) continue;
    numberOption(OWNER, `timeouts.${name}`, seconds, TIMEOUT_RANGE);
    bySpace[COLLECTION_SPACES[name]] = toNanoseconds(seconds, `timeouts.${name}`);
  }
  return bySpace;
}

function invalid(option: string, message: string): WafStateError {
  return new WafStateError('invalid_option', message, { details: { option } });
}
