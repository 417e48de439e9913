import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Fields } from './case-file.js';

/** A kind of store as the cases open it. Another kind is another entry of `STORE_SUBJECTS`. */
export interface StoreSubject {
  /** The kind of its entries. */
  readonly kind: string;
  /** The entries that its stores refer to, in the namespace `db`. */
  readonly engines: readonly Fields[];
  /** What a fresh, empty store needs beside its defaults; other fields each time. */
  readonly fresh: () => Fields;
  /** Frees what the subject took. */
  readonly close: () => void;
}

/** By the name that `--kind` takes. */
export const STORE_SUBJECTS: ReadonlyMap<string, () => StoreSubject> = new Map([
  ['memory', memory],
  ['lmdb', lmdb],
]);

function memory(): StoreSubject {
  return { kind: 'store.memory', engines: [], fresh: () => ({}), close: () => undefined };
}

function lmdb(): StoreSubject {
  const directory = mkdtempSync(join(tmpdir(), 'wafstate-store-'));
  let count = 0;
  return {
    kind: 'store.lmdb',
    engines: [{ name: 'main', kind: 'engine.lmdb', path: join(directory, 'state') }],
    fresh: () => ({ database: 'main', namespace: `case-${++count}` }),
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}
