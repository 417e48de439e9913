import { join } from 'node:path';
import { type ErrorCode, WafStateError } from '../../../contract/errors.js';
import { DATA_FILE } from '../layout.js';
import { pinSnapshot } from '../snapshot-pin.js';
import { DataFile } from './data-file.js';
import { glance } from './glance.js';
import type { Meta, MetaPair } from './meta.js';

/** One state of an environment, to be read from its file, without liblmdb, while servers go on writing. */
export class FileSnapshot {
  readonly file: DataFile;
  readonly meta: Meta;
  /** The state before it, where both meta pages are sound. */
  readonly older: Meta | undefined;
  /** Why the environment cannot be opened, as far as a glance tells. */
  readonly damage: string | undefined;
  /** Both whole meta pages as they are, in their order; of use where `damage` is undefined. */
  readonly metaPages: Buffer;
  readonly #directory: string;
  readonly #unpin: (() => void) | undefined;

  private constructor(directory: string, file: DataFile, unpin: (() => void) | undefined) {
    this.#directory = directory;
    this.#unpin = unpin;
    this.file = file;
    const metas = file.metas();
    if (metas === undefined) throw refused('not_found', `${directory} holds no environment`);
    if (!('what' in metas)) {
      this.meta = metas.newer;
      this.older = metas.older;
      this.damage = glance(file, metas)?.what;
      this.metaPages = metaPagesOf(metas);
      return;
    }
    const [meta] = file.loneMetas();
    if (meta === undefined)
      throw refused('corrupt_data', `nothing of ${directory} is readable: ${metas.what}`);
    this.meta = meta;
    this.damage = metas.what;
    this.metaPages = Buffer.alloc(0);
  }

  /**
   * The newest state, which stays as it is until `close`. Where one of the meta pages is damaged, what the other one tells. Throws
   * `corrupt_data` where both are, and `not_found` where nothing was begun.
   */
  static async open(directory: string): Promise<FileSnapshot> {
    const file = DataFile.open(join(directory, DATA_FILE));
    let unpin: (() => void) | undefined;
    try {
      unpin = await pinSnapshot(directory);
    } catch (error) {
      // Where LMDB cannot open it nobody writes to it, as a rule: `requireUnmoved` sees whether that held.
      if (!(error instanceof WafStateError && error.code === 'unavailable')) throw error;
    }
    try {
      return new FileSnapshot(directory, file, unpin);
    } catch (error) {
      unpin?.();
      file.close();
      throw error;
    }
  }

  /** To be called when all is read. Throws `unavailable` where writers have gone on and the state could not be kept. */
  requireUnmoved(): void {
    if (this.#unpin !== undefined || this.file.isNewest(this.meta)) return;
    throw refused(
      'unavailable',
      `${this.#directory} was written to while it was read, and LMDB could not keep a snapshot of it; stop its writers, and try again`,
    );
  }

  close(): void {
    this.#unpin?.();
    this.file.close();
  }
}

function metaPagesOf({ newer, older }: MetaPair): Buffer {
  const { pageSize } = newer;
  const pages = Buffer.alloc(2 * pageSize);
  const [even, odd] = newer.index === 0 ? [newer, older] : [older, newer];
  even.bytes.copy(pages, 0);
  odd.bytes.copy(pages, pageSize);
  return pages;
}

function refused(code: ErrorCode, message: string): WafStateError {
  return new WafStateError(code, message, { details: { option: 'path' } });
}
