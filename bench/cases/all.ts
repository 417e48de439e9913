import type { BenchCase } from '../bench-case.js';
import { bytes } from './bytes.js';
import { durableCommits } from './durable-commits.js';
import { growth } from './growth.js';
import { hotKey } from './hot-key.js';
import { latency } from './latency.js';
import { limitDurable, limitRelaxed } from './limit.js';
import { mainThread } from './main-thread.js';
import { counterMemory, requestMemory } from './memory-operations.js';
import { pause } from './pause.js';
import { processes } from './processes.js';
import { recordApply } from './record-apply.js';
import { redis } from './redis.js';
import { relaxedCommits } from './relaxed-commits.js';
import { rulesMainThread, rulesMemory } from './rules.js';

/** In the order of the report. */
export const CASES: readonly BenchCase[] = [
  durableCommits,
  relaxedCommits,
  limitDurable,
  limitRelaxed,
  hotKey,
  processes,
  redis,
  latency,
  mainThread,
  requestMemory,
  counterMemory,
  bytes,
  pause,
  growth,
  recordApply,
  rulesMainThread,
  rulesMemory,
];
