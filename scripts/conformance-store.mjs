/**
 * Runs case files of the key-value store on one kind of store. The last line says `N passed, M failed`; the status is 1 where one failed.
 *
 *     npm run conformance:store -- --cases DIR --kind memory|lmdb
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readStoreCases, STORE_SUBJECTS, StoreCases } from '../dist/testing/index.js';

const kinds = [...STORE_SUBJECTS.keys()].join('|');

function usage(problem) {
  process.stderr.write(`${problem}\nusage: npm run conformance:store -- --cases DIR --kind ${kinds}\n`);
  process.exit(2);
}

function options() {
  try {
    return parseArgs({ options: { cases: { type: 'string' }, kind: { type: 'string' } } }).values;
  } catch (error) {
    return usage(error.message);
  }
}

const { cases: directory, kind } = options();
if (directory === undefined) usage('--cases is missing');
if (kind === undefined) usage('--kind is missing');
const create = STORE_SUBJECTS.get(kind);
if (create === undefined) usage(`unknown kind '${kind}'; the kinds are ${kinds}`);

const files = readdirSync(directory).filter((name) => name.endsWith('.json'));
const cases = files.flatMap((file) => readStoreCases(join(directory, file)));
const runner = new StoreCases(create());
let passed = 0;
let failed = 0;
try {
  for (const each of cases) {
    if (each.kind !== 'any' && each.kind !== kind) continue;
    // A case that cannot be run, as one with an unknown op, has failed.
    const problem = await runner.run(each).catch((error) => String(error?.message ?? error));
    if (problem === undefined) passed++;
    else {
      failed++;
      process.stdout.write(`FAILED [${each.kind}] ${each.name}: ${problem}\n`);
    }
  }
} finally {
  await runner.close();
}
if (passed + failed === 0) usage(`no case in ${directory} is of kind any or ${kind}`);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
