/** A set of page numbers: a bit a page, in pieces that are made as they are needed. */
export class PageSet {
  readonly #pieces = new Map<number, Uint8Array>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(page: number): boolean {
    const piece = this.#pieces.get(Math.floor(page / PIECE_PAGES));
    return piece !== undefined && ((piece[(page % PIECE_PAGES) >> 3] ?? 0) & (1 << (page % 8))) !== 0;
  }

  /** False where it was there. */
  add(page: number): boolean {
    if (this.has(page)) return false;
    const number = Math.floor(page / PIECE_PAGES);
    let piece = this.#pieces.get(number);
    if (piece === undefined) {
      piece = new Uint8Array(PIECE_PAGES / 8);
      this.#pieces.set(number, piece);
    }
    const at = (page % PIECE_PAGES) >> 3;
    piece[at] = (piece[at] ?? 0) | (1 << (page % 8));
    this.#size++;
    return true;
  }
}

const PIECE_PAGES = 65_536;
