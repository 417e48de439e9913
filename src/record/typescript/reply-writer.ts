import { ByteWriter } from '../byte-writer.js';
import { REFUSAL_BYTES } from '../reply.js';
import { type Refusal, Status } from '../status.js';
import { Tag } from '../tag.js';
import { VARIABLE_HEADER_BYTES } from './layout.js';

const ANSWER_HEADER_BYTES = 8;
const RESULT_HEADER_BYTES = 12;

/**
 * Writes answers (docs/format.md, Reply) one after the other. An answer is begun, filled, and then finished or
 * replaced by a refusal, so that a request which fails at its last write leaves nothing of its first.
 */
export class ReplyWriter {
  readonly #out = new ByteWriter(4096);
  #answer = 0;
  #result = 0;
  #results = 0;
  #touched = 0;

  /** Forgets all answers. */
  clear(): void {
    this.#out.at = 0;
  }

  /** A copy of all answers since `clear`. */
  copy(): Buffer {
    return this.#out.copyFrom(0);
  }

  beginAnswer(): void {
    this.#answer = this.#out.at;
    this.#results = 0;
    this.#out.reserve(ANSWER_HEADER_BYTES);
    this.#out.at += ANSWER_HEADER_BYTES;
  }

  /** `revision` 0: the record was removed. The touched variables follow. */
  beginResult(revision: number, existed: boolean): void {
    const out = this.#out;
    out.reserve(RESULT_HEADER_BYTES);
    this.#result = out.at;
    this.#results++;
    this.#touched = 0;
    out.uint64(out.at, revision);
    out.view.setUint16(out.at + 8, existed ? 1 : 0, true);
    out.at += RESULT_HEADER_BYTES;
  }

  /** A touched variable that is not visible. */
  hidden(mutation: number): void {
    this.#touch(mutation, Tag.none, 0);
  }

  /**
   * A touched variable of the new record, which begins at `start` in `bytes`; hidden if it has no value.
   * `view` is that of the buffer below `bytes`, `base` the place of `bytes` in it.
   */
  variable(mutation: number, bytes: Uint8Array, view: DataView, base: number, start: number): void {
    const tag = view.getUint8(start + 2);
    const kind = tag & Tag.kind;
    if (kind === Tag.none) {
      this.hidden(mutation);
      return;
    }
    const deadline = start + VARIABLE_HEADER_BYTES + view.getUint16(start, true);
    const deadlineBytes = tag & Tag.deadline ? 8 : 0;
    const value = deadline + deadlineBytes + (tag & Tag.clock ? 8 : 0);
    const valueBytes = kind === Tag.integer ? 8 : 4 + view.getUint32(value, true);
    this.#touch(mutation, tag & ~Tag.clock, deadlineBytes + valueBytes);
    if (deadlineBytes > 0) this.#copy8(view, deadline);
    if (kind === Tag.integer) {
      this.#copy8(view, value);
    } else {
      this.#out.bytes.set(bytes.subarray(value - base, value - base + valueBytes), this.#out.at);
      this.#out.at += valueBytes;
    }
  }

  endResult(): void {
    this.#out.view.setUint16(this.#result + 10, this.#touched, true);
  }

  finishAnswer(): void {
    const { view, at } = this.#out;
    view.setUint32(this.#answer, at - this.#answer, true);
    view.setUint16(this.#answer + 4, Status.applied, true);
    view.setUint16(this.#answer + 6, this.#results, true);
  }

  /** Takes back what the answer holds so far. */
  refuse(refusal: Refusal): void {
    const out = this.#out;
    out.at = this.#answer;
    out.reserve(REFUSAL_BYTES);
    const { view, at } = out;
    view.setUint32(at, REFUSAL_BYTES, true);
    view.setUint16(at + 4, refusal.status, true);
    view.setUint16(at + 6, refusal.write, true);
    view.setUint32(at + 8, refusal.mutation, true);
    out.uint64(at + 12, refusal.limit);
    view.setBigInt64(at + 20, BigInt(refusal.actual), true);
    out.at = at + REFUSAL_BYTES;
  }

  /** Writes what every touched variable begins with, and makes room for `rest` bytes after it. */
  #touch(mutation: number, tag: number, rest: number): void {
    const out = this.#out;
    out.reserve(4 + rest);
    out.view.setUint16(out.at, mutation, true);
    out.view.setUint16(out.at + 2, tag, true);
    out.at += 4;
    this.#touched++;
  }

  #copy8(view: DataView, from: number): void {
    const out = this.#out;
    out.view.setUint32(out.at, view.getUint32(from, true), true);
    out.view.setUint32(out.at + 4, view.getUint32(from + 4, true), true);
    out.at += 8;
  }
}
