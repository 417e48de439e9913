import { conflict, type RecordWrite } from '../contract/backend.js';
import { WafStateError } from '../contract/errors.js';
import { spaceName } from '../contract/space.js';
import { corruptionText } from './corruption.js';
import { NO_MUTATION, type Refusal, Status } from './status.js';

/** The error that a refused commit rejects with. One place, so that it reads the same on every engine. */
export function refusalError(refusal: Refusal, writes: readonly RecordWrite[]): WafStateError {
  const write = writes[refusal.write];
  const space = write === undefined ? 'a' : spaceName(write.record.space);
  const { limit, actual } = refusal;
  const at = refusal.mutation === NO_MUTATION ? '' : ` (mutation ${refusal.mutation} of its batch)`;
  const details = write === undefined ? {} : { space };
  switch (refusal.status) {
    case Status.conflict:
      if (write !== undefined) return conflict(write.record, write.expect, actual);
      return new WafStateError(
        'conflict',
        'a record of the commit was changed meanwhile; load it again and retry',
      );
    case Status.malformed:
      return new WafStateError(
        'invalid_mutation',
        'the commit has a name, value, revision, timeout or number that no record can hold, or more than 65535 writes or mutations; build mutations within the limits',
      );
    case Status.overflow:
      return new WafStateError(
        'capacity_exceeded',
        `an add or subtract on the ${space} record leaves the range of signed 64-bit integers${at}; nothing of the commit was applied; leave that change out (a transaction can roll back to a checkpoint from before it), or set the variable to a smaller number in a commit of its own`,
        { details },
      );
    case Status.tooManyVariables:
      return new WafStateError(
        'capacity_exceeded',
        `the ${space} record would have ${actual} variables${at}, the limit is ${limit}; remove or expire some, or raise limits.variables`,
        { details: { ...details, option: 'variables', limit, actual } },
      );
    case Status.recordTooLarge:
      return new WafStateError(
        'capacity_exceeded',
        `the ${space} record would have ${actual} bytes of names and values, the limit is ${limit}; remove some, or raise limits.recordBytes`,
        { details: { ...details, option: 'recordBytes', limit, actual } },
      );
    case Status.corrupt:
      return corruptRecord(actual, details);
    case Status.mapFull:
      return new WafStateError(
        'capacity_exceeded',
        `the map of ${limit} bytes is full${actual === 0 ? '' : `, the commit needs ${actual} more`}; run a cleanup, or open with a larger mapSize`,
        { details: { ...details, option: 'mapSize', limit, ...(actual !== 0 && { actual }) } },
      );
    case Status.revisionsUsedUp:
      return new WafStateError(
        'capacity_exceeded',
        `revisions are used up at ${limit}; the system clock or the stored revisions are far in the future; restore a backup or start a new environment`,
        { details: { ...details, limit } },
      );
    case Status.diskFull:
      return new WafStateError(
        'capacity_exceeded',
        `the disk is full (errno ${actual}); nothing of the commit was applied; free space and retry`,
        { details: { ...details, actual } },
      );
    case Status.engineError:
      return new WafStateError(
        'unavailable',
        `the engine failed with code ${actual}; nothing of the commit was applied; retry, and verify the environment if it stays`,
        { details: { ...details, actual } },
      );
    case Status.notExecuted:
      return new WafStateError(
        'unavailable',
        'the commit was not executed; nothing of it was applied; retry',
        { details },
      );
    case Status.tableFull:
      return new WafStateError(
        'capacity_exceeded',
        `the shared table of ${limit} bytes is full, the commit needs ${actual}; run a cleanup, or open it with more bytes`,
        { details: { ...details, option: 'bytes', limit, actual } },
      );
  }
}

/** The error for bytes that are no record. `reason` is a `Corruption`; the content never stands in the message. */
export function corruptRecord(reason: number, details: { readonly space?: string } = {}): WafStateError {
  const which = details.space === undefined ? 'a record' : `the ${details.space} record`;
  return new WafStateError(
    'corrupt_data',
    `${which} is corrupt: ${corruptionText(reason)} (reason ${reason}); other records are not affected; inspect it with \`wafstate verify\` and remove it with \`wafstate delete\``,
    { details: { ...details, actual: reason } },
  );
}
