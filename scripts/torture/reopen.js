// What comes after every round of torture: the environment is opened again and held against the journals, which begin anew.
import { readdirSync, readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { openLmdb } from 'wafstate';
import { compare, Journal, readAll, removeLanes } from './ledger.js';

/** Returns what `compare` does, and how many commits the journals say were acknowledged. */
export async function reopen(open, journals, base) {
  const journal = new Journal();
  const files = readdirSync(journals).map((name) => join(journals, name));
  for (const file of files) journal.read(readFileSync(file, 'utf8'));
  const backend = await openLmdb(open);
  const result = compare(await readAll(backend), journal, base);
  await removeLanes(backend, [...journal.lanes.keys()]);
  await backend.close();
  for (const file of files) unlinkSync(file);
  return { ...result, acknowledged: journal.acknowledged };
}
