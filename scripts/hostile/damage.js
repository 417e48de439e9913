// Ways to damage an environment. Each case is {base, kind, what, expect, damage(directory)}, where `expect` is
//   refuse           a typed error before LMDB sees the file
//   refuse or exact  that, or the damage hit what nobody reads: then everything is as it was
//   check            the check of integrity finds it, or everything is as it was; without the check LMDB may crash
//   empty            opens as a new environment
import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const PAGE = 4096;
const HEADER = 24;

/** Of a meta page: name, offset, bytes, and whether a value that is wrong is always told. */
const META_FIELDS = [
  ['page number', 0, 8, 'refuse'],
  ['page transaction', 8, 8, 'refuse'],
  ['page pad', 16, 2, 'refuse'],
  ['page flags', 18, 2, 'refuse'],
  ['page bounds', 20, 4, 'refuse'],
  ['magic', HEADER, 4, 'refuse'],
  ['version', HEADER + 4, 4, 'refuse'],
  ['address', HEADER + 8, 8, 'refuse'],
  // LMDB maps at least what it was opened with, whatever stands there.
  ['map size', HEADER + 16, 8, 'refuse or exact'],
  ['page size', HEADER + 24, 4, 'refuse'],
  ['environment flags', HEADER + 28, 2, 'refuse'],
  ['free list depth', HEADER + 30, 2, 'refuse or exact'],
  ['free list branch pages', HEADER + 32, 8, 'refuse or exact'],
  ['free list leaf pages', HEADER + 40, 8, 'refuse or exact'],
  ['free list overflow pages', HEADER + 48, 8, 'refuse or exact'],
  ['free list entries', HEADER + 56, 8, 'refuse or exact'],
  ['free list root', HEADER + 64, 8, 'refuse'],
  ['records pad', HEADER + 72, 4, 'refuse'],
  ['records flags', HEADER + 76, 2, 'refuse'],
  ['records depth', HEADER + 78, 2, 'refuse or exact'],
  ['records branch pages', HEADER + 80, 8, 'refuse or exact'],
  ['records leaf pages', HEADER + 88, 8, 'refuse or exact'],
  ['records overflow pages', HEADER + 96, 8, 'refuse or exact'],
  // Figures for the statistics alone.
  ['records entries', HEADER + 104, 8, 'refuse or exact'],
  ['records root', HEADER + 112, 8, 'refuse'],
  ['last page', HEADER + 120, 8, 'refuse or exact'],
  ['transaction', HEADER + 128, 8, 'refuse'],
  ['boot id', HEADER + 136, 8, 'refuse or exact'],
];

function patch(file, position, length, change) {
  const descriptor = openSync(file, 'r+');
  const bytes = Buffer.alloc(length);
  readSync(descriptor, bytes, 0, length, position);
  writeSync(descriptor, change(bytes), 0, length, position);
  closeSync(descriptor);
}

/** Ways to change an integer; `random` is below 1. */
const VALUES = [
  ['a bit', (bytes, random) => flip(bytes, Math.floor(random() * bytes.length * 8))],
  ['a low bit', (bytes, random) => flip(bytes, Math.floor(random() * 6))],
  ['zero', (bytes) => Buffer.alloc(bytes.length)],
  ['ones', (bytes) => Buffer.alloc(bytes.length, 0xff)],
  ['one more', (bytes) => add(bytes, 1n)],
  ['one less', (bytes) => add(bytes, -1n)],
  ['two less', (bytes) => add(bytes, -2n)],
  ['random', (bytes, random) => Buffer.from(bytes.map(() => Math.floor(random() * 256)))],
];

function flip(bytes, bit) {
  const changed = Buffer.from(bytes);
  changed[bit >> 3] ^= 1 << (bit & 7);
  return changed;
}

function add(bytes, delta) {
  const changed = Buffer.alloc(8);
  bytes.copy(changed);
  changed.writeBigInt64LE(BigInt.asIntN(64, changed.readBigInt64LE() + delta));
  return changed.subarray(0, bytes.length);
}

const data = (directory) => join(directory, 'data.mdb');

export function headerCases(base, random) {
  const cases = [];
  for (const meta of [0, 1])
    for (const [name, offset, length, expect] of META_FIELDS)
      for (const [way, of] of VALUES) {
        const damage = (directory) => {
          patch(data(directory), meta * PAGE + offset, length, (bytes) => {
            const changed = of(bytes, random);
            return changed.equals(bytes) ? flip(bytes, 0) : changed;
          });
        };
        cases.push({ base, kind: 'header', what: `${name} of meta page ${meta}: ${way}`, expect, damage });
      }
  const metas = (write) => (directory) => {
    const file = readFileSync(data(directory));
    write(file, Buffer.from(file.subarray(0, PAGE)), Buffer.from(file.subarray(PAGE, 2 * PAGE)));
    writeFileSync(data(directory), file);
  };
  const whole = [
    ['swapped', (file, first, second) => Buffer.concat([second, first]).copy(file)],
    ['both the first', (file, first) => first.copy(file, PAGE)],
    ['both the second', (file, _, second) => second.copy(file, 0)],
    ['the first zeros', (file) => file.fill(0, 0, PAGE)],
    ['the second zeros', (file) => file.fill(0, PAGE, 2 * PAGE)],
  ];
  for (const [way, write] of whole)
    cases.push({ base, kind: 'header', what: `meta pages: ${way}`, expect: 'refuse', damage: metas(write) });
  return cases;
}

export function truncationCases(base, bytes) {
  const lengths = new Set([1, 15, 24, 100, 191, PAGE - 1, PAGE + 1, PAGE + 100]);
  for (let length = PAGE; length < bytes; length += PAGE) lengths.add(length);
  for (let length = 3 * PAGE - 1; length < bytes; length += 7 * PAGE) lengths.add(length).add(length + 2);
  const cases = [...lengths].map((length) => ({
    base,
    kind: 'truncation',
    what: `${length} of ${bytes} bytes`,
    // What is cut off may be free pages.
    expect: length > 2 * PAGE ? 'refuse or exact' : 'refuse',
    damage: (directory) => truncateSync(data(directory), length),
  }));
  return [
    ...cases,
    { base, kind: 'truncation', what: '0 bytes', expect: 'empty', damage: (d) => truncateSync(data(d), 0) },
  ];
}

/** `pages`: numbers of pages in use by kind. */
export function* pageCases(base, pages, random) {
  const kinds = Object.keys(pages).filter((kind) => pages[kind].length > 0);
  const all = kinds.flatMap((kind) => pages[kind]);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const ways = {
    'a bit': (file, at) => flipAt(file, at * PAGE * 8 + Math.floor(random() * PAGE * 8)),
    'a bit of its header': (file, at) => flipAt(file, at * PAGE * 8 + Math.floor(random() * 24 * 8)),
    'a bit of its node offsets': (file, at) =>
      flipAt(file, (at * PAGE + 24) * 8 + Math.floor(random() * 16 * 8)),
    'a bit of a node': (file, at) => flipAt(file, at * PAGE * 8 + nodeBit(file, at, random)),
    'eight bits': (file, at) => {
      for (let i = 0; i < 8; i++) flipAt(file, at * PAGE * 8 + Math.floor(random() * PAGE * 8));
    },
    zeros: (file, at) => file.fill(0, at * PAGE, (at + 1) * PAGE),
    'random bytes': (file, at) => {
      for (let i = at * PAGE; i < (at + 1) * PAGE; i++) file[i] = Math.floor(random() * 256);
    },
    'half of it zeros': (file, at) => file.fill(0, at * PAGE + 2048, (at + 1) * PAGE),
    'another page': (file, at) => file.copy(file, at * PAGE, ...rangeOf(pick(all))),
    'another page under its number': (file, at) => {
      file.copy(file, at * PAGE, ...rangeOf(pick(all)));
      file.writeBigUInt64LE(BigInt(at), at * PAGE);
    },
  };
  for (;;) {
    const kind = pick(kinds);
    const page = pick(pages[kind]);
    const way = pick(Object.keys(ways));
    yield {
      base,
      kind: `${kind} page`,
      what: `page ${page}: ${way}`,
      expect: 'check',
      damage: (directory) => {
        const file = readFileSync(data(directory));
        ways[way](file, page);
        writeFileSync(data(directory), file);
      },
    };
  }
}

function flipAt(file, bit) {
  file[bit >> 3] ^= 1 << (bit & 7);
}

/** A bit of the header of one of the page's nodes, within the page. */
function nodeBit(file, page, random) {
  const count = Math.max(1, file.readUInt16LE(page * PAGE + 20) >> 1);
  const index = Math.floor(random() * Math.min(count, 2000));
  const offset = (24 + file.readUInt16LE(page * PAGE + 24 + 2 * index)) % (PAGE - 8);
  return offset * 8 + Math.floor(random() * 64);
}

function rangeOf(page) {
  return [page * PAGE, (page + 1) * PAGE];
}

/** As LMDB 0.9 lays its file out: a page header of 16 bytes, magic, version 1. */
function stockFile() {
  const file = Buffer.alloc(4 * PAGE);
  for (const meta of [0, 1]) {
    const at = meta * PAGE;
    file.writeBigUInt64LE(BigInt(meta), at);
    file.writeUInt16LE(8, at + 10);
    file.writeUInt32LE(0xbeefc0de, at + 16);
    file.writeUInt32LE(1, at + 20);
    file.writeBigUInt64LE(1_048_576n, at + 32);
    file.writeUInt32LE(PAGE, at + 40);
    file.fill(0xff, at + 80, at + 88);
    file.fill(0xff, at + 128, at + 136);
    file.writeBigUInt64LE(1n, at + 136);
  }
  return file;
}

const FOREIGN = {
  'a stock LMDB 0.9 file': stockFile(),
  'an SQLite file': Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(8176, 7)]),
  'an ELF file': readFileSync(process.execPath).subarray(0, 40_000),
  text: Buffer.from('127.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200\n'.repeat(400)),
  gzip: gzipSync(Buffer.from('x'.repeat(1_000_000))),
  zeros: Buffer.alloc(16_384),
  'a byte': Buffer.from('x'),
  'random bytes': Buffer.from(Array.from({ length: 20_000 }, (_, i) => (i * 2_654_435_761) >>> 13)),
};

const replaced = (name, make) => (directory) => {
  const file = join(directory, name);
  rmSync(file, { recursive: true, force: true });
  return make(file);
};

const SPECIAL = {
  'a directory': (file) => mkdirSync(file),
  'a link to a file': (file) => symlinkSync('/etc/passwd', file),
  'a link to another environment': (file) => symlinkSync('../sound/data.mdb', file),
  'a link that leads nowhere': (file) => symlinkSync('nowhere', file),
  'a link to itself': (file) => symlinkSync(file, file),
  'a fifo': (file) => execFileSync('mkfifo', [file]),
  'a socket': (file) =>
    new Promise((resolve) => {
      // The name outlives the server where the server is not closed in order.
      const server = createServer().listen(`${file}.s`, () => {
        linkSync(`${file}.s`, file);
        server.close(resolve);
      });
    }),
  'a device': (file) => spawnSync('mknod', [file, 'c', '1', '5']),
};

/** Where the superuser alone may make something, `canMakeDevices` says whether it may. */
export function foreignCases(base, canMakeDevices) {
  const cases = [];
  const lock = (name) => name.endsWith('lock.mdb');
  for (const name of ['data.mdb', 'lock.mdb', 'gate/data.mdb', 'gate/lock.mdb', 'gate']) {
    for (const [what, make] of Object.entries(SPECIAL)) {
      if (what === 'a device' && !canMakeDevices) continue;
      // An empty directory is a gate that nobody has begun.
      const expect = name === 'gate' && what === 'a directory' ? 'refuse or exact' : 'refuse';
      cases.push({
        base,
        kind: 'special file',
        what: `${name} is ${what}`,
        expect,
        damage: replaced(name, make),
      });
    }
    for (const [what, bytes] of Object.entries(FOREIGN)) {
      // LMDB lays lock files out anew that nobody has open.
      const expect = lock(name) ? 'refuse or exact' : 'refuse';
      const damage = replaced(name, (file) => writeFileSync(file, bytes));
      cases.push({ base, kind: 'foreign file', what: `${name} is ${what}`, expect, damage });
    }
    if (name === 'gate') continue;
    const gone = name === 'data.mdb' ? 'empty' : 'refuse or exact';
    cases.push({
      base,
      kind: 'missing file',
      what: `${name} is gone`,
      expect: gone,
      damage: replaced(name, () => undefined),
    });
    const swapped = (directory) => copyFileSync(data(directory), join(directory, name));
    if (name !== 'data.mdb')
      cases.push({
        base,
        kind: 'foreign file',
        what: `${name} is data.mdb`,
        expect: lock(name) ? 'refuse or exact' : 'refuse',
        damage: swapped,
      });
  }
  return cases;
}
