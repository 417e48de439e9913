import { WafStateError } from '../contract/errors.js';
import type { Position } from './position.js';

/**
 * A construct of SecLang that is right and not carried out here: an error, or with `unsupported: 'skip'` a warning. `option` is
 * another option that helps, and how.
 */
export function unsupported(
  position: Position,
  construct: string,
  problem: string,
  option?: string,
): WafStateError {
  return new WafStateError(
    'unsupported',
    `${position.file}:${position.line}: ${problem}; take the rule out, or load with ${option === undefined ? '' : `${option}, or `}unsupported: 'skip', which leaves it out and warns`,
    { details: { option: construct } },
  );
}

export function isUnsupported(error: unknown): error is WafStateError {
  return error instanceof WafStateError && error.code === 'unsupported';
}
