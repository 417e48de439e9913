import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { buildLimit, type LimitMethod, runLimit } from '../../bench/limit/program.js';
import { counterRecord } from '../../bench/subjects/counter-record.js';
import { typescriptCodec } from '../../src/record/typescript/codec.js';

// Needs a C compiler, as the addon does.
describe('the C program that stands for the physical limit', () => {
  const directory = mkdtempSync(join(tmpdir(), 'wafstate-limit-'));
  const program = buildLimit(directory);
  afterAll(() => rmSync(directory, { recursive: true }));

  const run = (method: LimitMethod, home: string) =>
    runLimit(program, {
      directory: join(directory, home),
      keys: 10,
      batch: 20,
      durability: 'relaxed',
      milliseconds: 20,
      method,
    });

  it('is built once', () => {
    expect(buildLimit(directory)).toBe(program);
  });

  it.each(['put', 'tuned'] as const)('leaves records that are wafstate’s own, by %s', async (method) => {
    const sample = await run(method, method);
    expect(sample.operations % 20).toBe(0);
    const bytes = Buffer.from(sample.record, 'hex');
    const { name, facts, variables } = typescriptCodec.decode(bytes);
    expect(name).toEqual({ space: 1, applicationId: '', key: '10.0.0.0' });
    expect([...variables.keys()]).toEqual(['requests']);
    // The update that made the record did not count.
    expect(Number(variables.get('requests' as never)?.value)).toBe(facts.updateCount - 1);
    expect(Buffer.from(typescriptCodec.encode(typescriptCodec.decode(bytes)))).toEqual(bytes);
    expect(counterRecord('10.0.0.0')).toHaveLength(bytes.length);
  });

  it('goes on in a directory it has used', async () => {
    const counter = async () => {
      const { record } = await run('put', 'again');
      return Number(
        typescriptCodec.decode(Buffer.from(record, 'hex')).variables.get('requests' as never)?.value,
      );
    };
    expect(await counter()).toBeLessThan(await counter());
  });
});
