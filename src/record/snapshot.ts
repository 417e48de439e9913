import type { ByteString } from '../contract/bytes.js';
import { ABSENT, type Snapshot, type Variable } from '../contract/snapshot.js';
import { isVisible } from '../contract/variable.js';
import { isTimedOut } from './apply.js';
import type { StoredRecord } from './record.js';

/** A stored record as a reader sees it at `now`: absent once it is timed out, except with `hidden`. */
export function snapshotOf(record: StoredRecord, now: bigint, hidden: boolean): Snapshot {
  const { revision, facts } = record;
  if (hidden) return { revision, facts, variables: record.variables };
  if (isTimedOut(facts, now)) return ABSENT;
  let visible = record.variables;
  for (const variable of record.variables.values()) {
    if (isVisible(variable, now)) continue;
    visible = visibleOf(record.variables, now);
    break;
  }
  return { revision, facts, variables: visible };
}

function visibleOf(
  variables: ReadonlyMap<ByteString, Variable>,
  now: bigint,
): ReadonlyMap<ByteString, Variable> {
  const visible = new Map<ByteString, Variable>();
  for (const [name, variable] of variables) if (isVisible(variable, now)) visible.set(name, variable);
  return visible;
}
