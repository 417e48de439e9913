import type { Subject } from '../subject.js';
import { betterSqlite3 } from './better-sqlite3.js';
import { lmdbJson } from './lmdb-json.js';
import { rateLimiterMemory } from './rate-limiter-memory.js';
import { rateLimiterRedis } from './rate-limiter-redis.js';
import { recordCodecs } from './record-codecs.js';
import { settledPromises } from './settled-promises.js';
import { transactionPerCommit } from './transaction-per-commit.js';
import { lmdbNative, lmdbTypeScript } from './wafstate-lmdb.js';
import { memory } from './wafstate-memory.js';
import { sharedMemory } from './wafstate-shared-memory.js';

export const SUBJECTS: readonly Subject[] = [
  lmdbNative,
  lmdbTypeScript,
  sharedMemory,
  memory,
  transactionPerCommit,
  lmdbJson,
  betterSqlite3,
  rateLimiterMemory,
  rateLimiterRedis,
  settledPromises,
  recordCodecs,
];

/** Throws where there is none of that id. */
export function findSubject(id: string): Subject {
  const subject = SUBJECTS.find((each) => each.id === id);
  if (subject === undefined) throw new RangeError(`there is no subject '${id}'`);
  return subject;
}
