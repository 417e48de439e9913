import type { Backend } from '../contract/backend.js';
import type { ByteString } from '../contract/bytes.js';
import type { Clock } from '../contract/clock.js';
import type { Limits } from '../contract/limits.js';
import type { KeyDigests } from './key-digest.js';

/** What a deployment has decided and its engine can do, looked up once for all of its transactions. */
export interface Settings {
  readonly backend: Backend;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly applicationId: ByteString;
  /** Backend failures let the request go on. */
  readonly failOpen: boolean;
  /** By space: the sliding timeout of new records in nanoseconds, `undefined` = none. */
  readonly timeouts: readonly (bigint | undefined)[];
  readonly keyDigests: KeyDigests;
  /** The engine applies a log to whatever is current: no revision is needed. */
  readonly rebasesServerSide: boolean;
  /** The engine publishes several records all or none. */
  readonly commitsTogether: boolean;
  /** The engine commits several records 'any' and at once: a flush needs no promise but its own. */
  readonly commitsAtOnce: boolean;
  /** The engine settles a commit at its deadline by itself. */
  readonly keepsDeadlines: boolean;
}
