// The log of write-recorder.c, and what a disk may hold at any point of it.

const KIND = { write: 1, written: 2, sync: 3, synced: 4, resize: 5, line: 6, mapped: 7 };
const HEADER_BYTES = 32;
export const FILES = { 1: 'data.mdb', 2: 'gate/data.mdb' };

/** The entries of a log, oldest first. */
export function* entriesOf(log) {
  for (let at = 0; at < log.length; ) {
    const kind = log.readUInt32LE(at);
    const length = Number(log.readBigUInt64LE(at + 24));
    const entry = {
      kind,
      file: log.readUInt32LE(at + 4),
      number: log.readBigUInt64LE(at + 8),
      offset: Number(log.readBigUInt64LE(at + 16)),
      bytes: log.subarray(at + HEADER_BYTES, at + HEADER_BYTES + length),
    };
    yield entry;
    at += HEADER_BYTES + length;
  }
}

/** One file: what is surely on disk, and the writes that may or may not be. */
class Disk {
  #synced = Buffer.alloc(0);
  pending = [];
  #covered = new Map();

  write(entry) {
    this.pending.push(entry);
  }

  /** A sync covers what was written before it began. */
  beginSync(number) {
    this.#covered.set(number, new Set(this.pending));
  }

  endSync(number) {
    const covered = this.#covered.get(number);
    this.#covered.delete(number);
    this.#settle((write) => covered.has(write));
  }

  endWrite(number) {
    this.#settle((write) => write.number === number);
  }

  #settle(isOnDisk) {
    for (const write of this.pending.filter(isOnDisk))
      this.#synced = put(this.#synced, write.offset, write.bytes);
    this.pending = this.pending.filter((write) => !isOnDisk(write));
  }

  /** What is on disk where `pieces` of the pending writes got there, in that order. */
  image(pieces) {
    let image = Buffer.from(this.#synced);
    for (const { offset, bytes } of pieces) image = put(image, offset, bytes);
    return image;
  }
}

function put(image, offset, bytes) {
  const end = offset + bytes.length;
  const grown = end > image.length ? Buffer.concat([image, Buffer.alloc(end - image.length)]) : image;
  bytes.copy(grown, offset);
  return grown;
}

/** Follows a log entry by entry. */
export class Replay {
  disks = new Map(Object.keys(FILES).map((file) => [Number(file), new Disk()]));
  journal = '';
  /** Why the log cannot be the whole truth. */
  unseen;

  /** Whether anything that a power cut would leave has changed. */
  follow({ kind, file, number, offset, bytes }) {
    const disk = this.disks.get(file);
    if (kind === KIND.write) disk.write({ number, offset, bytes });
    else if (kind === KIND.written) disk.endWrite(number);
    else if (kind === KIND.sync) disk.beginSync(number);
    else if (kind === KIND.synced) disk.endSync(number);
    else if (kind === KIND.line) this.journal += bytes.toString();
    else this.unseen = `a data file was ${kind === KIND.mapped ? 'mapped for writing' : 'resized'}`;
    return kind !== KIND.sync;
  }
}

/** Ways in which a disk may have treated what was not synced. */
export const TREATMENTS = {
  dropped: () => [],
  kept: (pending) => pending,
  'only the last': (pending) => pending.slice(-1),
  'reordered and torn': (pending, random) => {
    const pieces = pending.filter(() => random.chance(0.5)).flatMap((write) => tear(write, random));
    for (let i = pieces.length - 1; i > 0; i--) {
      const j = random.integer(0, i);
      [pieces[i], pieces[j]] = [pieces[j], pieces[i]];
    }
    return pieces;
  },
};

/** Whole, or some of its sectors or pages. */
function tear(write, random) {
  if (random.chance(0.4)) return [write];
  const unit = random.chance(0.5) ? 512 : 4096;
  const pieces = [];
  let at = 0;
  while (at < write.bytes.length) {
    // Units lie on the disk, not in the write.
    const end = Math.min(write.bytes.length, at + unit - ((write.offset + at) % unit));
    if (random.chance(0.6)) pieces.push({ offset: write.offset + at, bytes: write.bytes.subarray(at, end) });
    at = end;
  }
  return pieces;
}
