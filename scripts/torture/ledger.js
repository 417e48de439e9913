// What the torture scripts write, and how they tell whether it is still there.
//
// A lane is a loop of commits, one in flight. Commit n of a lane writes four records at once: sets `sequence` to n in the lane's two
// own records, and adds 1 to `count` in the two records of a pair that all lanes share. The journal, appended by write(2)
// outside the environment, says what was sent and what was acknowledged:
//
//     o                            the environment is open
//     i LANE SEQUENCE PAIR         before the commit is handed over
//     a LANE SEQUENCE REVISION×4   after its promise resolved
//
// So the sequence in a lane's records tells which of its commits are applied, the one in doubt included, and with it the
// exact count of every pair.
import { DEFAULT_LIMITS, systemClock } from 'wafstate';

export const PAIRS = 8;
const MAX_FILLER_BYTES = 6000;

const record = (key) => ({ space: 1, applicationId: '', key });
const laneKeys = (lane) => [`lane ${lane} a`, `lane ${lane} b`];
const pairKeys = (pair) => [`pair ${pair} a`, `pair ${pair} b`];

/** From none to more than a page, the same for a lane and a sequence every time. */
function filler(lane, sequence) {
  const length = (sequence * 7919 + lane.length * 104_729) % MAX_FILLER_BYTES;
  return String.fromCharCode(97 + (sequence % 26)).repeat(length);
}

export function commit(backend, lane, sequence, pair) {
  const set = (name, value) => ({ type: 'set', name, value });
  const writes = [
    ...laneKeys(lane).map((key) => ({
      record: record(key),
      expect: 'any',
      mutations: [set('sequence', String(sequence)), set('filler', filler(lane, sequence))],
    })),
    ...pairKeys(pair).map((key) => ({
      record: record(key),
      expect: 'any',
      mutations: [{ type: 'add', name: 'count', delta: 1n }],
    })),
  ];
  return backend.commit(writes, { now: systemClock.now(), limits: DEFAULT_LIMITS });
}

/** Removes the records of lanes that have ended, many in one commit. */
export async function removeLanes(backend, lanes) {
  const keys = lanes.flatMap(laneKeys);
  const options = { now: systemClock.now(), limits: DEFAULT_LIMITS };
  for (let from = 0; from < keys.length; from += 64) {
    const writes = keys
      .slice(from, from + 64)
      .map((key) => ({ record: record(key), expect: 'any', mutations: [{ type: 'removeRecord' }] }));
    await backend.commit(writes, options);
  }
}

export const OPENED_LINE = 'o\n';
export const intentLine = (lane, sequence, pair) => `i ${lane} ${sequence} ${pair}\n`;
export const acknowledgementLine = (lane, sequence, results) =>
  `a ${lane} ${sequence} ${results.map(({ revision }) => revision).join(' ')}\n`;

/** By lane: the pair of each commit that was sent, in order, how many were acknowledged, and their revisions. */
export class Journal {
  lanes = new Map();
  opened = false;

  /** Whole lines; the last one of a process that was killed may be cut off, and then counts as not written. */
  read(text) {
    for (const line of text.slice(0, text.lastIndexOf('\n') + 1).split('\n')) {
      if (line === 'o') this.opened = true;
      if (line === '' || line === 'o') continue;
      const [kind, lane, sequence, ...rest] = line.split(' ');
      const entry = this.lanes.get(lane) ?? { pairs: [], acknowledged: 0, revisions: [] };
      this.lanes.set(lane, entry);
      if (kind === 'i') entry.pairs.push(Number(rest[0]));
      else {
        entry.acknowledged = Number(sequence);
        entry.revisions.push(rest.map(Number));
      }
    }
  }

  get acknowledged() {
    return [...this.lanes.values()].reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  }
}

/** Every record, as { revision, variables } by key, and the errors of those that cannot be read. */
export async function readAll(backend) {
  const records = new Map();
  const unreadable = [];
  let after;
  do {
    const page = await backend.scan({ now: systemClock.now(), limit: 1000, ...(after && { after }) });
    for (const { record: name, snapshot, error } of page.entries) {
      if (snapshot === undefined) unreadable.push(error.message);
      else records.set(Buffer.from(name.key, 'latin1').toString(), snapshot);
    }
    after = page.next;
  } while (after !== undefined);
  return { records, unreadable };
}

/**
 * Holds what was read against a journal. `base` has the count of each pair before the journal began, and the newest revision there was.
 * Returns what is wrong, line by line, the lanes whose commit in doubt is applied, and the base for the next journal. `floor: 'sent'` asks
 * for less: acknowledged commits may be missing, the rest must hold.
 */
export function compare({ records, unreadable }, journal, base, floor = 'acknowledged') {
  const faults = unreadable.map((message) => `unreadable record: ${message}`);
  const counts = [...base.counts];
  let inDoubt = 0;
  const inDoubtApplied = [];
  let lost = 0;
  const text = (key, name) => records.get(key)?.variables.get(name)?.value;
  for (const [lane, { pairs, acknowledged, revisions }] of journal.lanes) {
    const [a, b] = laneKeys(lane);
    const sequence = Number(text(a, 'sequence') ?? 0);
    if (sequence !== Number(text(b, 'sequence') ?? 0)) faults.push(`lane ${lane}: a commit is there in part`);
    if (sequence < acknowledged) {
      lost += acknowledged - sequence;
      if (floor === 'acknowledged') {
        faults.push(`lane ${lane}: ${acknowledged} were acknowledged, ${sequence} are there`);
      }
    }
    if (sequence > pairs.length)
      faults.push(`lane ${lane}: ${pairs.length} were sent, ${sequence} are there`);
    for (const key of sequence > 0 ? [a, b] : []) {
      const value = text(key, 'filler');
      if (value !== filler(lane, sequence))
        faults.push(`lane ${lane}: a value is not the one that was written`);
      const stored = records.get(key)?.revision;
      const known = revisions[sequence - 1]?.[key === a ? 0 : 1];
      if (known !== undefined && stored !== known) {
        faults.push(`lane ${lane}: revision ${stored} is stored, ${known} was acknowledged`);
      }
    }
    if (pairs.length > acknowledged) inDoubt++;
    if (sequence > acknowledged) inDoubtApplied.push(lane);
    for (const pair of pairs.slice(0, sequence)) counts[pair]++;
  }
  for (const [pair, count] of counts.entries()) {
    for (const key of pairKeys(pair)) {
      const found = Number(text(key, 'count') ?? 0);
      if (found !== count) faults.push(`${key}: ${count} are applied by the lanes, ${found} are counted`);
    }
  }
  faults.push(...revisionFaults(journal, base.revision));
  const newest = Math.max(base.revision, ...[...records.values()].map(({ revision }) => revision));
  return { faults, inDoubt, inDoubtApplied, lost, base: { counts, revision: newest } };
}

export const EMPTY_BASE = { counts: Array.from({ length: PAIRS }, () => 0), revision: 0 };

function revisionFaults(journal, floor) {
  const faults = [];
  const seen = new Set();
  for (const [lane, { revisions }] of journal.lanes) {
    let last = floor;
    for (const ofCommit of revisions) {
      for (const revision of ofCommit) {
        if (seen.has(revision)) faults.push(`lane ${lane}: revision ${revision} was given twice`);
        seen.add(revision);
      }
      const least = Math.min(...ofCommit);
      if (least <= last) faults.push(`lane ${lane}: revision ${least} came after ${last}`);
      last = Math.max(...ofCommit);
    }
  }
  return faults;
}
