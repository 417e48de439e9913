import type { StoreValue } from 'wafstate/store';

interface Item {
  readonly value: StoreValue;
  readonly deadline: bigint | undefined;
  readonly version: number;
}

/** What a store does, in the plainest words: a map, a clock that is handed in, and a count of writes. */
export class StoreModel {
  readonly #items = new Map<string, Item>();
  readonly #maxSize: number;
  #writes = 0;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  find(key: string, now: bigint): Item | undefined {
    const item = this.#items.get(key);
    return item !== undefined && (item.deadline === undefined || item.deadline > now) ? item : undefined;
  }

  keys(now: bigint): string[] {
    const keys = [...this.#items.keys()].filter((key) => this.find(key, now) !== undefined);
    return keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }

  /** The version, or the code of the error. */
  put(
    key: string,
    value: StoreValue,
    now: bigint,
    { ttl, onlyIfAbsent, version }: { ttl?: bigint; onlyIfAbsent?: boolean; version?: number },
  ): string | number {
    const item = this.find(key, now);
    if (onlyIfAbsent === true && item !== undefined) return 'already_exists';
    if (version !== undefined && item === undefined) return 'not_found';
    if (version !== undefined && item?.version !== version) return 'conflict';
    if (item === undefined && this.keys(now).length >= this.#maxSize) return 'store_full';
    this.#items.set(key, { value, deadline: ttl && now + ttl, version: ++this.#writes });
    return this.#writes;
  }

  delete(key: string, now: bigint, version?: number): boolean {
    const item = this.find(key, now);
    if (item === undefined || (version !== undefined && item.version !== version)) return false;
    return this.#items.delete(key);
  }

  increment(key: string, by: bigint, now: bigint, ttl: bigint | undefined): string | bigint {
    const item = this.find(key, now);
    if (item !== undefined && typeof item.value !== 'number') return 'invalid_mutation';
    if (item === undefined && this.keys(now).length >= this.#maxSize) return 'store_full';
    const value = BigInt(item === undefined ? 0 : Number(item.value)) + by;
    const deadline = item?.deadline ?? (ttl && now + ttl);
    this.#items.set(key, { value: Number(value), deadline, version: ++this.#writes });
    return value;
  }

  touch(key: string, ttl: bigint | undefined, now: bigint): boolean {
    const item = this.find(key, now);
    if (item === undefined) return false;
    this.#items.set(key, { ...item, deadline: ttl && now + ttl, version: ++this.#writes });
    return true;
  }
}
