import { type ByteString, fromBytes, toBytes } from '../../contract/bytes.js';

interface Node {
  readonly key: ByteString;
  deadline: bigint;
  /** Where it is in the heap. */
  index: number;
}

/**
 * The keys that have a deadline, the earliest first: a binary heap with an index, so that a key stands in it once however often it is
 * written. Every step is O(log n).
 */
export class DeadlineQueue {
  readonly #heap: Node[] = [];
  readonly #nodes = new Map<ByteString, Node>();

  /** Undefined: the key has no deadline, or is gone. */
  set(key: ByteString, deadline: bigint | undefined): void {
    const node = this.#nodes.get(key);
    if (deadline === undefined) {
      if (node !== undefined) this.#remove(node);
      return;
    }
    if (node === undefined) {
      // A copy, since a key that was cut from a request would keep all of the request alive.
      const added: Node = { key: fromBytes(toBytes(key)), deadline, index: this.#heap.length };
      this.#nodes.set(added.key, added);
      this.#heap.push(added);
      this.#rise(added);
      return;
    }
    node.deadline = deadline;
    this.#rise(node);
    this.#sink(node);
  }

  /** The keys whose deadline is at or before `now`. They stay in the queue until `set` takes them out, which ends the iteration. */
  *due(now: bigint): Generator<ByteString> {
    // No child is due before its parent, so that the children of due nodes are all there is to look at.
    const pending = [0];
    for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
      const node = this.#heap[index];
      if (node === undefined || node.deadline > now) continue;
      yield node.key;
      pending.push(2 * index + 1, 2 * index + 2);
    }
  }

  #remove(node: Node): void {
    this.#nodes.delete(node.key);
    const last = this.#heap.pop();
    if (last === undefined || last === node) return;
    this.#place(last, node.index);
    this.#rise(last);
    this.#sink(last);
  }

  #rise(node: Node): void {
    while (node.index > 0) {
      const parent = this.#heap[(node.index - 1) >> 1];
      if (parent === undefined || parent.deadline <= node.deadline) return;
      this.#swap(parent, node);
    }
  }

  #sink(node: Node): void {
    for (;;) {
      const left = this.#heap[2 * node.index + 1];
      const right = this.#heap[2 * node.index + 2];
      const child =
        right !== undefined && left !== undefined && right.deadline < left.deadline ? right : left;
      if (child === undefined || child.deadline >= node.deadline) return;
      this.#swap(node, child);
    }
  }

  #swap(a: Node, b: Node): void {
    const { index } = a;
    this.#place(a, b.index);
    this.#place(b, index);
  }

  #place(node: Node, index: number): void {
    this.#heap[index] = node;
    node.index = index;
  }
}
