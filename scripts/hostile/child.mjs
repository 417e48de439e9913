// Opens one environment after the other as it is told, does everything with it that a host does, and answers what came of it. It may
// die of one: then it is started again.
import { createHash } from 'node:crypto';
import { DEFAULT_LIMITS, openLmdb, WafStateError } from 'wafstate';
import { checkIntegrity, isSound } from '../../dist/backend/lmdb/file/integrity.js';

const NOW = 1_700_000_000_500_000_000n;
const OPTIONS = { now: NOW, limits: DEFAULT_LIMITS };

/** Everything that it holds as one digest; `errors` counts records that could not be read. */
async function contents(backend) {
  const hash = createHash('sha256');
  let [records, errors] = [0, 0];
  let after;
  do {
    const page = await backend.scan({ now: NOW, after, limit: 100, hidden: true });
    for (const { record, snapshot, error } of page.entries) {
      records++;
      if (snapshot === undefined) errors += requireTyped(error);
      else
        hash.update(
          JSON.stringify([record, snapshot.revision, [...snapshot.variables], snapshot.facts], plain),
        );
      try {
        backend.loadSync(record, NOW, DEFAULT_LIMITS);
      } catch (caught) {
        errors += requireTyped(caught);
      }
    }
    after = page.next;
  } while (after !== undefined);
  return { records, errors, digest: hash.digest('hex') };
}

function plain(_, value) {
  return typeof value === 'bigint' ? String(value) : value;
}

function requireTyped(error) {
  if (error instanceof WafStateError) return 1;
  throw error;
}

/** Every eighth record is removed, every other changed; then all is swept. */
async function work(backend) {
  const page = await backend.scan({ now: NOW, limit: 1000, hidden: true });
  const writes = page.entries.map(({ record }, index) => ({
    record,
    expect: 'any',
    mutations:
      index % 8 === 0
        ? [{ type: 'removeRecord' }]
        : [{ type: 'set', name: 'more', value: 'x'.repeat(index * 50) }],
  }));
  const results = await Promise.allSettled(writes.map((write) => backend.commit([write], OPTIONS)));
  let errors = 0;
  for (const result of results) if (result.status === 'rejected') errors += requireTyped(result.reason);
  await backend.cleanup(NOW, { records: 1000, variables: 10_000 });
  backend.stats();
  return errors;
}

async function judge({ path, implementation, integrity, readOnly }) {
  let backend;
  try {
    backend = await openLmdb({
      path,
      implementation,
      integrity,
      readOnly,
      cleanupInterval: 0,
      mapSize: 2 ** 24,
    });
  } catch (error) {
    requireTyped(error);
    return { outcome: 'refused', code: error.code, message: error.message, option: error.details.option };
  }
  let answer;
  try {
    const found = await contents(backend);
    const errors = readOnly ? 0 : await work(backend);
    answer = { outcome: 'opened', ...found, errors: found.errors + errors };
  } catch (error) {
    requireTyped(error);
    answer = { outcome: 'opened', records: 0, errors: 1, digest: '', code: error.code };
  }
  try {
    await backend.close();
  } catch (error) {
    answer.errors += requireTyped(error);
  }
  return answer;
}

/** Nobody writes, so there is nothing to pin. */
async function check(path) {
  const report = await checkIntegrity(
    path,
    () => Promise.reject(new Error('it moved')),
    () => undefined,
  );
  return { outcome: 'checked', sound: isSound(report) };
}

process.on('message', async (task) => {
  try {
    process.send(await (task.check === undefined ? judge(task) : check(task.check)));
  } catch (error) {
    process.send({ outcome: 'untyped', message: error?.stack ?? String(error) });
  }
});
