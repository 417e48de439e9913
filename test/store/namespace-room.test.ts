import { expect, test } from 'vitest';
import { openMemory } from '../../src/backend/memory/memory.js';
import type { ByteString } from '../../src/contract/bytes.js';
import type { Ticket } from '../../src/store/change.js';
import { recordOf, replacing, STORE_LIMITS } from '../../src/store/entry.js';
import { NamespaceRoom } from '../../src/store/kind/namespace-room.js';
import { ManualClock } from '../collections/manual-clock.js';

const NAMESPACE = 'n' as ByteString;
const [A, B, C] = ['a', 'b', 'c'] as [ByteString, ByteString, ByteString];

function setUp(maxSize: number) {
  const clock = new ManualClock();
  const backend = openMemory({ clock, cleanupInterval: 0 });
  const room = () => new NamespaceRoom(backend, NAMESPACE, maxSize);
  const admit = (to: NamespaceRoom, key: ByteString) => to.admit([{ key, revision: 0 }], clock.now());
  /** Adds an entry as `change` does. */
  const add = async (key: ByteString, ticket: Ticket, seconds?: number) => {
    const deadline = seconds === undefined ? undefined : clock.now() + BigInt(seconds) * 1_000_000_000n;
    const write = {
      record: recordOf(NAMESPACE, key),
      expect: 'absent',
      mutations: replacing('1' as ByteString, deadline),
    } as const;
    try {
      const results = await backend.commit([write, ...ticket.writes], {
        now: clock.now(),
        limits: STORE_LIMITS,
      });
      ticket.settle(results.slice(1));
    } catch (error) {
      ticket.settle(undefined);
      throw error;
    }
  };
  return { clock, room, admit, add };
}

test('two who counted the same cannot both add', async () => {
  const { room, admit, add } = setUp(1);
  const [one, other] = [room(), room()];
  const [first, second] = [await admit(one, A), await admit(other, B)];
  await add(A, first);
  await expect(add(B, second)).rejects.toMatchObject({ code: 'conflict' });
  await expect(admit(other, B)).rejects.toMatchObject({
    code: 'store_full',
    details: { limit: 1, actual: 2 },
  });
});

test('one at a time is admitted, and a refusal lets the next one try', async () => {
  const { room, admit, add } = setUp(2);
  const only = room();
  const first = await admit(only, A);
  let isAdmitted = false;
  const second = admit(only, B).then((ticket) => {
    isAdmitted = true;
    return ticket;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isAdmitted).toBe(false);
  await add(A, first);
  await add(B, await second);
  for (let attempt = 0; attempt < 3; attempt++) {
    await expect(admit(only, C)).rejects.toMatchObject({ code: 'store_full' });
  }
});

test('what expires makes room at its deadline, and what others delete within a second', async () => {
  const { clock, room, admit, add } = setUp(1);
  const only = room();
  await add(A, await admit(only, A), 10);
  await expect(admit(only, B)).rejects.toMatchObject({ code: 'store_full' });
  clock.advance(9.5);
  await expect(admit(only, B)).rejects.toMatchObject({ code: 'store_full' });
  clock.advance(0.5);
  await add(B, await admit(only, B));
  await expect(admit(only, C)).rejects.toMatchObject({ code: 'store_full' });
  only.freed();
  await expect(admit(only, C)).rejects.toMatchObject({ code: 'store_full' });
});
