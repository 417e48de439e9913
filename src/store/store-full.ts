import { WafStateError } from '../contract/errors.js';

/** New keys are refused; those that are there can be written. */
export function storeFull(limit: number, actual: number): WafStateError {
  return new WafStateError(
    'store_full',
    `the store is full: it would hold ${actual} entries, max_size allows ${limit}; delete some, give them a shorter ttl, or raise max_size`,
    { details: { option: 'max_size', limit, actual } },
  );
}
