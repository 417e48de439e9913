// Opens copies that a power cut might have left and says what it found in them. A process of its own, since a damaged file may take
// it down. Messages: { open, journal, base, write } → { refused } or { faults, lost, wrote }.
import { openLmdb } from 'wafstate';
import { commit, compare, EMPTY_BASE, Journal, readAll } from './ledger.js';

process.on('message', async ({ open, text, write, floor }) => {
  process.send(await judge(open, text, write, floor));
});

async function judge(open, text, write, floor) {
  const journal = new Journal();
  journal.read(text);
  let backend;
  try {
    backend = await openLmdb({ ...open, readOnly: !write });
  } catch (error) {
    return { refused: error.code ?? 'untyped', message: error.message, opened: journal.opened };
  }
  try {
    const { faults, lost, base } = compare(await readAll(backend), journal, EMPTY_BASE, floor);
    if (!write) return { faults, lost };
    const [{ revision }] = await commit(backend, 'afterwards', 1, 0);
    if (revision <= base.revision) faults.push(`revision ${revision} was given out after ${base.revision}`);
    const after = await readAll(backend);
    if (after.unreadable.length > 0) faults.push('records cannot be read after another commit');
    return { faults, lost };
  } catch (error) {
    return { faults: [`${error.code}: ${error.message}`], lost: 0 };
  } finally {
    await backend.close();
  }
}
