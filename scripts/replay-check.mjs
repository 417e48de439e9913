/**
 * Replays an access log on every engine, native and TypeScript, and holds the blocks against an independent count.
 *
 *     node scripts/replay-check.mjs --log access.log.gz [--limit 30] [--window 300] [--block 3600]
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { independentCount } from './independent-count.js';

const { values } = parseArgs({
  options: {
    log: { type: 'string' },
    limit: { type: 'string', default: '30' },
    window: { type: 'string', default: '300' },
    block: { type: 'string', default: '3600' },
  },
});
if (values.log === undefined) {
  process.stderr.write(
    'usage: node scripts/replay-check.mjs --log FILE [--limit N] [--window S] [--block S]\n',
  );
  process.exit(2);
}
const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const { limit, window, block } = values;
const expected = independentCount(readFileSync(values.log), {
  limit: Number(limit),
  window: Number(window),
  block: Number(block),
});
process.stdout.write(
  `independent count: ${expected.lines} lines, ${expected.malformed} malformed, ${expected.blocked.length} blocks\n`,
);

let failed = 0;
for (const [engine, native] of [
  ['lmdb', 'require'],
  ['lmdb', '0'],
  ['memory', '0'],
  ['shared-memory', 'require'],
]) {
  const directory = mkdtempSync(join(tmpdir(), 'wafstate-replay-'));
  const rule = ['--limit', limit, '--window', window, '--block', block];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      cli,
      'replay',
      '--json',
      '--log',
      values.log,
      '--engine',
      engine,
      ...(engine === 'lmdb' ? ['--path', join(directory, 'state')] : []),
      ...rule,
    ],
    { env: { ...process.env, WAFSTATE_NATIVE: native }, maxBuffer: 2 ** 28, encoding: 'utf8' },
  );
  rmSync(directory, { recursive: true });
  if (status !== 0) {
    failed++;
    process.stdout.write(`FAILED: ${engine}, WAFSTATE_NATIVE=${native}: ${stderr}`);
    continue;
  }
  const report = JSON.parse(stdout);
  const same =
    isDeepStrictEqual(report.blocked, expected.blocked) &&
    report.lines === expected.lines &&
    report.malformed === expected.malformed;
  if (!same) failed++;
  const rate = Math.round(report.transactions / report.seconds);
  process.stdout.write(
    `${same ? 'same' : 'DIFFERS'}: ${engine}, native ${report.native}, ${rate} transactions/s\n`,
  );
}
process.exit(failed === 0 ? 0 : 1);
