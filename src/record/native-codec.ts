import type { ByteString } from '../contract/bytes.js';
import type { Variable } from '../contract/snapshot.js';
import type { Corruption } from './corruption.js';
import type { Applied, RecordCodec, StoredRecord } from './record.js';
import { corruptRecord } from './refusal.js';

/** What the addon offers a record: the functions of native/addon/record.cc, exactly as they are called. */
export interface RecordAddon {
  recordApply(existing: Uint8Array | undefined, requests: Uint8Array, revision: number): Applied;
  /** A number is the reason of corruption. */
  recordDecode(bytes: Uint8Array): FlatRecord | number;
  recordEncode(record: FlatRecord): Uint8Array | number;
  recordCheck(bytes: Uint8Array): number;
}

/** A record as it crosses: four parallel arrays instead of an object for each variable, which costs several times as much. */
interface FlatRecord {
  readonly space: number;
  readonly applicationId: ByteString;
  readonly key: ByteString;
  readonly revision: number;
  readonly created: bigint;
  readonly updated: bigint;
  readonly updateCount: number;
  readonly timeout: bigint | undefined;
  readonly names: readonly ByteString[];
  readonly values: readonly (ByteString | undefined)[];
  readonly deadlines: readonly (bigint | undefined)[];
  readonly clocks: readonly (bigint | undefined)[];
}

/** Records in C++. */
export class NativeCodec implements RecordCodec {
  readonly implementation = 'native';
  readonly #addon: RecordAddon;

  constructor(addon: RecordAddon) {
    this.#addon = addon;
  }

  check(bytes: Uint8Array): Corruption {
    return this.#addon.recordCheck(bytes) as Corruption;
  }

  decode(bytes: Uint8Array): StoredRecord {
    const flat = this.#addon.recordDecode(bytes);
    if (typeof flat === 'number') throw corruptRecord(flat);
    const { space, applicationId, key, revision, created, updated, updateCount, timeout } = flat;
    const variables = new Map<ByteString, Variable>();
    for (let i = 0; i < flat.names.length; i++) {
      variables.set(flat.names[i] as ByteString, {
        value: flat.values[i],
        deadline: flat.deadlines[i],
        clock: flat.clocks[i],
      });
    }
    return {
      name: { space, applicationId, key },
      revision,
      facts: { created, updated, updateCount, timeout },
      variables,
    };
  }

  encode(record: StoredRecord): Uint8Array {
    const variables = [...record.variables.values()];
    const bytes = this.#addon.recordEncode({
      ...record.name,
      ...record.facts,
      revision: record.revision,
      names: [...record.variables.keys()],
      values: variables.map((variable) => variable.value),
      deadlines: variables.map((variable) => variable.deadline),
      clocks: variables.map((variable) => variable.clock),
    });
    if (typeof bytes === 'number') throw corruptRecord(bytes);
    return bytes;
  }

  apply(existing: Uint8Array | undefined, requests: Uint8Array, revision: number): Applied {
    return this.#addon.recordApply(existing, requests, revision);
  }
}
