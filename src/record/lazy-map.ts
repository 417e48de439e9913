/**
 * A map that is made when it is first read as a whole: most of what an engine hands out is looked at once, by name, or not
 * at all.
 */
export abstract class LazyMap<Key, Value> implements ReadonlyMap<Key, Value> {
  #map: ReadonlyMap<Key, Value> | undefined = undefined;

  protected abstract make(): ReadonlyMap<Key, Value>;

  /** Whether it was made already. */
  protected get isMade(): boolean {
    return this.#map !== undefined;
  }

  protected get whole(): ReadonlyMap<Key, Value> {
    this.#map ??= this.make();
    return this.#map;
  }

  get size(): number {
    return this.whole.size;
  }

  get(key: Key): Value | undefined {
    return this.whole.get(key);
  }

  has(key: Key): boolean {
    return this.whole.has(key);
  }

  keys(): MapIterator<Key> {
    return this.whole.keys();
  }

  values(): MapIterator<Value> {
    return this.whole.values();
  }

  entries(): MapIterator<[Key, Value]> {
    return this.whole.entries();
  }

  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.whole.entries();
  }

  forEach(callback: (value: Value, key: Key, map: ReadonlyMap<Key, Value>) => void): void {
    for (const [key, value] of this.whole) callback(value, key, this);
  }
}
