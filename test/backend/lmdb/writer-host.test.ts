import { afterEach, describe, expect, it, vi } from 'vitest';
import type { BatchFate } from '../../../src/backend/lmdb/environment.js';
import { WriterHost } from '../../../src/backend/lmdb/writer-host.js';
import type { WriterSetup } from '../../../src/backend/lmdb/writer-task.js';

/** What dying-writer.mjs does with a batch. */
const ECHO = Uint8Array.of(1);
const DEATHS = { exit: Uint8Array.of(2), 'uncaught exception': Uint8Array.of(4) };
const HANG = Uint8Array.of(5);
const SLOW = Uint8Array.of(6);

describe('the host of the writer thread', () => {
  let host: WriterHost;
  const fate = vi.fn<(sequence: number) => BatchFate>(() => ({ type: 'not_executed' }));
  const onLost = vi.fn();
  const onFound = vi.fn();

  function start(timeout = 60_000): WriterHost {
    host = new WriterHost({
      setup: {} as WriterSetup,
      timeout,
      worker: new URL('./dying-writer.mjs', import.meta.url),
      fate,
      onLost,
      onFound,
    });
    return host;
  }

  afterEach(async () => {
    await host.close();
    fate.mockClear();
    onLost.mockClear();
    onFound.mockClear();
  });

  it('hands a batch over and the reply back', async () => {
    start();
    expect(await host.execute(ECHO.slice())).toEqual({ type: 'replied', reply: ECHO });
    expect(fate).not.toHaveBeenCalled();
  });

  it.each(Object.entries(DEATHS))(
    'asks for the fate of a batch whose thread died by %s, and goes on with another',
    async (_, death) => {
      start();
      await host.execute(ECHO.slice());
      expect(await host.execute(death.slice())).toEqual({ type: 'not_executed' });
      expect(fate).toHaveBeenCalledWith(2);
      expect(await host.execute(ECHO.slice())).toEqual({ type: 'replied', reply: ECHO });
      expect(host.lost).toBeUndefined();
    },
  );

  it('waits for a transaction that outlives its thread', async () => {
    start();
    fate.mockReturnValueOnce({ type: 'executing' }).mockReturnValueOnce({ type: 'replied', reply: ECHO });
    expect(await host.execute(DEATHS.exit.slice())).toEqual({ type: 'replied', reply: ECHO });
  });

  it('declares a silent writer lost, once, and refuses what comes later with the remedy', async () => {
    start(100);
    const silent = host.execute(HANG.slice());
    await vi.waitFor(() => expect(onLost).toHaveBeenCalled());
    expect(host.lost).toMatchObject({
      code: 'writer_lost',
      message: expect.stringMatching(/no sign for 0\.1 s .*go on once that ends, else restart this process/),
    });
    await expect(host.sync()).rejects.toMatchObject({ code: 'writer_lost' });
    expect(onLost).toHaveBeenCalledTimes(1);
    expect(await Promise.race([silent, 'still silent'])).toBe('still silent');
  });

  it('finds a writer that answers after it was declared lost, and goes on with it', async () => {
    start(100);
    const slow = host.execute(SLOW.slice());
    await vi.waitFor(() => expect(onLost).toHaveBeenCalled());
    expect(onFound).not.toHaveBeenCalled();
    expect(await slow).toEqual({ type: 'replied', reply: ECHO });
    expect(onFound).toHaveBeenCalledTimes(1);
    expect(host.lost).toBeUndefined();
    expect(await host.execute(ECHO.slice())).toEqual({ type: 'replied', reply: ECHO });
  });

  it('takes no later task of a silent writer for a sign of life', async () => {
    start(400);
    void host.execute(HANG.slice());
    const sweeps: Promise<unknown>[] = [];
    const timer = setInterval(() => sweeps.push(host.sync().catch((error) => error.code)), 50);
    await vi.waitFor(() => expect(onLost).toHaveBeenCalled(), { timeout: 20_000 });
    clearInterval(timer);
    expect(new Set(await Promise.all(sweeps))).toEqual(new Set(['writer_lost']));
  });

  it('ends an open that the writer does not answer', async () => {
    start(100);
    void host.execute(HANG.slice());
    await expect(host.open()).rejects.toMatchObject({ code: 'writer_lost' });
  });

  it('does not blame the writer for a caller that was blocked longer than the timeout', async () => {
    start(1000);
    await host.execute(ECHO.slice());
    const answer = host.execute(ECHO.slice());
    // Behind the messages of this turn, so that timers come before the answer.
    await new Promise((resolve) => setImmediate(resolve));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
    expect(await answer).toEqual({ type: 'replied', reply: ECHO });
    expect(onLost).not.toHaveBeenCalled();
  });
});
