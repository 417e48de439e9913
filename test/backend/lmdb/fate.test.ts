import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Environment } from '../../../src/backend/lmdb/environment.js';
import type { NativeEnvironmentAddon } from '../../../src/backend/lmdb/native-addon.js';
import { NativeEnvironment, openNatively } from '../../../src/backend/lmdb/native-environment.js';
import { NativeWriter } from '../../../src/backend/lmdb/native-writer.js';
import { resolveLmdbOptions } from '../../../src/backend/lmdb/options.js';
import { preflight } from '../../../src/backend/lmdb/preflight.js';
import { TypeScriptEnvironment } from '../../../src/backend/lmdb/typescript-environment.js';
import { openByPackage } from '../../../src/backend/lmdb/typescript-opening.js';
import { TypeScriptWriter } from '../../../src/backend/lmdb/typescript-writer.js';
import type { Writer, WriterSetup } from '../../../src/backend/lmdb/writer-task.js';
import { type ByteString, fromBytes } from '../../../src/contract/bytes.js';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.js';
import { loadAddon } from '../../../src/record/addon.js';
import { RequestWriter } from '../../../src/record/request.js';
import { scratchDirectory } from './directory.js';

/** Two requests: an increment, and one that is refused, since no record is at revision 1. */
function batch(): Uint8Array {
  const writer = new RequestWriter();
  const record = { space: 1, applicationId: '' as ByteString, key: 'k' as ByteString };
  const mutations = [{ type: 'add', name: 'n' as ByteString, delta: 1n } as const];
  writer.append([{ record, expect: 'any', mutations }], 1n, DEFAULT_LIMITS);
  writer.append([{ record, expect: 1, mutations }], 1n, DEFAULT_LIMITS);
  return writer.take();
}

async function setUp(implementation: 'native' | 'typescript', path: string) {
  const options = resolveLmdbOptions({ path, mapSize: 2 ** 22, cleanupInterval: 0 });
  const setup: WriterSetup = {
    ...options,
    ...preflight(options, () => false),
    implementation,
    writerName: fromBytes(randomBytes(16)),
    writerNumber: 7n,
    guards: [new SharedArrayBuffer(8)],
  };
  if (implementation === 'typescript') {
    const writer: Writer = await TypeScriptWriter.open(setup);
    const { data, gate } = await openByPackage(setup, false);
    const environment: Environment = new TypeScriptEnvironment(data, gate, setup);
    return { setup, writer, environment };
  }
  const addon = loadAddon<NativeEnvironmentAddon>() as NativeEnvironmentAddon;
  const writer: Writer = new NativeWriter(addon, setup);
  const environment: Environment = new NativeEnvironment(
    addon,
    openNatively(addon, setup, false),
    setup.writerNumber,
  );
  return { setup, writer, environment };
}

describe('the fate of a batch whose thread did not live to answer', () => {
  const directory = scratchDirectory();
  let open: Awaited<ReturnType<typeof setUp>>;

  afterEach(async () => {
    await open.writer.close();
    await open.environment.close();
  });

  it('is told by the note of a TypeScript writer', async () => {
    open = await setUp('typescript', join(directory, 'typescript'));
    const { writer, environment } = open;
    expect(environment.fate(1)).toEqual({ type: 'not_executed' });
    writer.execute(1, batch());
    expect(environment.fate(1)).toEqual({ type: 'applied', applied: Uint8Array.of(1, 0) });
    expect(environment.fate(2)).toEqual({ type: 'not_executed' });
    writer.execute(2, batch());
    expect(environment.fate(1)).toEqual({ type: 'unknown' });
  });

  it('is unknown where the note is gone', async () => {
    open = await setUp('typescript', join(directory, 'note gone'));
    const other = await openByPackage(open.setup, false);
    const key = `\0\x05${open.setup.writerName}` as ByteString;
    other.gate.inside(() => other.data.transactionSync(() => other.data.removeSync(key)));
    expect(open.environment.fate(1)).toEqual({ type: 'unknown' });
    await other.data.close();
    await other.gate.close();
  });

  it('is not to be executed once the process is about to exit', async () => {
    open = await setUp('typescript', join(directory, 'exit'));
    const { writer, environment, setup } = open;
    const guard = new Int32Array(setup.guards[0] as SharedArrayBuffer);
    guard[0] = 1;
    expect(writer.execute(1, batch())).toBeUndefined();
    expect(environment.fate(1)).toEqual({ type: 'not_executed' });
    expect(guard[1]).toBe(0);
    guard[0] = 0;
  });

  it.skipIf(loadAddon() === undefined)('is kept whole by the addon', async () => {
    open = await setUp('native', join(directory, 'native'));
    const { writer, environment } = open;
    expect(environment.fate(1)).toEqual({ type: 'not_executed' });
    const reply = writer.execute(1, batch());
    expect(environment.fate(1)).toEqual({ type: 'replied', reply });
    expect(environment.fate(2)).toEqual({ type: 'not_executed' });
  });
});
