/**
 * Bytes that an engine writes answers into, one behind the other and never twice in the same place: what was handed out reads
 * from there for as long as it lives, and keeps the slab alive.
 */
export class Slab {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** Where the next answer goes. */
  at = 0;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafeSlow(size);
    this.view = new DataView(this.bytes.buffer);
  }

  get room(): number {
    return this.bytes.length - this.at;
  }
}
