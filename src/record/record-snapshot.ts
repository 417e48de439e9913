import { type ByteString, fromBytes } from '../contract/bytes.js';
import { saturatingAdd } from '../contract/clock.js';
import { ABSENT, type RecordFacts, type Snapshot, type Variable } from '../contract/snapshot.js';
import { isVisible } from '../contract/variable.js';
import type { Slab } from './slab.js';
import { Tag } from './tag.js';

/** Where the fields of a record stand: docs/format.md. */
const FLAGS_AT = 3;
const APPLICATION_ID_LENGTH_AT = 5;
const KEY_LENGTH_AT = 6;
const REVISION_AT = 8;
const CREATED_AT = 16;
const UPDATED_AT = 24;
const UPDATE_COUNT_AT = 32;
const VARIABLE_COUNT_AT = 38;
const HEADER_BYTES = 40;
const HAS_TIMEOUT = 1;

/** Up to so many variables, looking at each is cheaper than making a map of all. */
const FEW = 16;

/**
 * The record whose bytes stand in the slab at `offset`, as a reader sees it at `now`: absent once it is timed out, except with
 * `hidden`. Nothing is decoded before it is asked for. REQUIRES: the bytes are sound; their checksum is not looked at.
 */
export function recordSnapshot(slab: Slab, offset: number, now: bigint, hidden: boolean): Snapshot {
  if (!hidden && (slab.bytes[offset + FLAGS_AT] as number) !== 0) {
    const { view } = slab;
    const timeout = view.getBigInt64(offset + HEADER_BYTES, true);
    if (saturatingAdd(view.getBigInt64(offset + UPDATED_AT, true), timeout) <= now) return ABSENT;
  }
  return new RecordSnapshot(slab, offset, now, hidden);
}

class RecordSnapshot implements Snapshot {
  readonly variables: ReadonlyMap<ByteString, Variable>;
  readonly #slab: Slab;
  readonly #offset: number;
  #facts: RecordFacts | undefined = undefined;

  constructor(slab: Slab, offset: number, now: bigint, hidden: boolean) {
    this.variables = new RecordVariables(slab, offset, now, hidden);
    this.#slab = slab;
    this.#offset = offset;
  }

  get revision(): number {
    const { view } = this.#slab;
    const at = this.#offset + REVISION_AT;
    return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
  }

  get facts(): RecordFacts {
    this.#facts ??= readFacts(this.#slab, this.#offset);
    return this.#facts;
  }
}

function readFacts({ bytes, view }: Slab, offset: number): RecordFacts {
  const hasTimeout = ((bytes[offset + FLAGS_AT] as number) & HAS_TIMEOUT) !== 0;
  return {
    created: view.getBigInt64(offset + CREATED_AT, true),
    updated: view.getBigInt64(offset + UPDATED_AT, true),
    updateCount:
      view.getUint32(offset + UPDATE_COUNT_AT, true) +
      view.getUint16(offset + UPDATE_COUNT_AT + 4, true) * 2 ** 32,
    timeout: hasTimeout ? view.getBigInt64(offset + HEADER_BYTES, true) : undefined,
  };
}

/**
 * The variables of a record: a map that is made when it is first read as a whole, since most are looked at once, by name.
 * Extends nothing: V8 does not inline the constructors of derived classes.
 */
class RecordVariables implements ReadonlyMap<ByteString, Variable> {
  readonly #slab: Slab;
  /** Of the record. */
  readonly #offset: number;
  readonly #now: bigint;
  readonly #hidden: boolean;
  #map: ReadonlyMap<ByteString, Variable> | undefined = undefined;

  constructor(slab: Slab, offset: number, now: bigint, hidden: boolean) {
    this.#slab = slab;
    this.#offset = offset;
    this.#now = now;
    this.#hidden = hidden;
  }

  get(name: ByteString): Variable | undefined {
    if (this.#map !== undefined || this.#count > FEW) return this.#whole.get(name);
    const { bytes, view } = this.#slab;
    let at = this.#start;
    for (let left = this.#count; left > 0; left--) {
      if (isNamed(bytes, view, at, name)) {
        const variable = this.#read(at);
        return this.#hidden || isVisible(variable, this.#now) ? variable : undefined;
      }
      at += variableBytes(view, at);
    }
    return undefined;
  }

  has(name: ByteString): boolean {
    return this.get(name) !== undefined;
  }

  get size(): number {
    return this.#whole.size;
  }

  keys(): MapIterator<ByteString> {
    return this.#whole.keys();
  }

  values(): MapIterator<Variable> {
    return this.#whole.values();
  }

  entries(): MapIterator<[ByteString, Variable]> {
    return this.#whole.entries();
  }

  [Symbol.iterator](): MapIterator<[ByteString, Variable]> {
    return this.#whole.entries();
  }

  forEach(
    callback: (value: Variable, name: ByteString, map: ReadonlyMap<ByteString, Variable>) => void,
  ): void {
    for (const [name, variable] of this.#whole) callback(variable, name, this);
  }

  get #whole(): ReadonlyMap<ByteString, Variable> {
    this.#map ??= this.#make();
    return this.#map;
  }

  #make(): Map<ByteString, Variable> {
    const map = new Map<ByteString, Variable>();
    const { bytes, view } = this.#slab;
    let at = this.#start;
    for (let left = this.#count; left > 0; left--) {
      const variable = this.#read(at);
      if (this.#hidden || isVisible(variable, this.#now)) {
        map.set(fromBytes(bytes.subarray(at + 3, at + 3 + view.getUint16(at, true))), variable);
      }
      at += variableBytes(view, at);
    }
    return map;
  }

  get #count(): number {
    return this.#slab.view.getUint16(this.#offset + VARIABLE_COUNT_AT, true);
  }

  /** Where the first variable stands. */
  get #start(): number {
    const { bytes, view } = this.#slab;
    const at = this.#offset;
    const header = HEADER_BYTES + ((bytes[at + FLAGS_AT] as number) & HAS_TIMEOUT) * 8;
    return (
      at +
      header +
      (bytes[at + APPLICATION_ID_LENGTH_AT] as number) +
      view.getUint16(at + KEY_LENGTH_AT, true)
    );
  }

  #read(start: number): Variable {
    const { bytes, view } = this.#slab;
    const tag = bytes[start + 2] as number;
    const kind = tag & Tag.kind;
    let at = start + 3 + view.getUint16(start, true);
    let deadline: bigint | undefined;
    if (tag & Tag.deadline) {
      deadline = view.getBigInt64(at, true);
      at += 8;
    }
    if (kind === Tag.none) return { value: undefined, deadline, clock: undefined };
    let clock: bigint;
    if (tag & Tag.clock) {
      clock = view.getBigInt64(at, true);
      at += 8;
    } else {
      clock = view.getBigInt64(this.#offset + CREATED_AT, true);
    }
    return { value: readValue(this.#slab, at, kind), deadline, clock };
  }
}

/** A value as the text a reader sees. `kind` is that of its tag, integer or bytes. */
export function readValue(
  { bytes, view }: Pick<Slab, 'bytes' | 'view'>,
  at: number,
  kind: number,
): ByteString {
  if (kind !== Tag.integer) {
    const length = view.getUint32(at, true);
    return bytes.toString('latin1', at + 4, at + 4 + length) as ByteString;
  }
  const high = view.getInt32(at + 4, true);
  // Within the integers that a number is exact for, which are nearly all, no bigint is needed.
  if (high < 2 ** 20 && high >= -(2 ** 20)) {
    return String(high * 2 ** 32 + view.getUint32(at, true)) as ByteString;
  }
  return String(view.getBigInt64(at, true)) as ByteString;
}

function isNamed(bytes: Uint8Array, view: DataView, at: number, name: ByteString): boolean {
  const { length } = name;
  if (view.getUint16(at, true) !== length) return false;
  for (let i = 0; i < length; i++) {
    if (bytes[at + 3 + i] !== name.charCodeAt(i)) return false;
  }
  return true;
}

function variableBytes(view: DataView, start: number): number {
  const tag = view.getUint8(start + 2);
  let at = start + 3 + view.getUint16(start, true);
  if (tag & Tag.deadline) at += 8;
  if (tag & Tag.clock) at += 8;
  if ((tag & Tag.kind) === Tag.integer) at += 8;
  if ((tag & Tag.kind) === Tag.bytes) at += 4 + view.getUint32(at, true);
  return at - start;
}
