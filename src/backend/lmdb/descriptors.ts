import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { WafStateError } from '../../contract/errors.js';

/**
 * A thread of Node takes up to ten, both environments three each, and an open leaves some to the rest of the process. Where they run
 * out half-way, the `lmdb` package is a segmentation fault.
 */
const NEEDED = 32;

/** Throws `unavailable` where the process has no room for the file descriptors that an open takes. */
export function requireFreeDescriptors(): void {
  const taken: number[] = [];
  try {
    while (taken.length < NEEDED) taken.push(openSync(devNull, 'r'));
  } catch (cause) {
    throw new WafStateError(
      'unavailable',
      `openLmdb: opening takes up to ${NEEDED} file descriptors, ${taken.length} are free; close some, or raise the limit of the process (ulimit -n)`,
      { details: { limit: taken.length, actual: NEEDED }, cause },
    );
  } finally {
    for (const descriptor of taken) closeSync(descriptor);
  }
}
