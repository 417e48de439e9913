/**
 * Bytes as text that a terminal shows and never obeys: everything but printable ASCII is percent-encoded, and so is `%`, so
 * that what is printed can be given back as an argument.
 */
export function printable(bytes: string): string {
  return bytes.replace(
    /[^\x20-\x24\x26-\x7e]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/** An argument back to text or bytes: `%41` is a byte; all else stands for itself in UTF-8. */
export function unprintable(argument: string): Uint8Array {
  const bytes = Buffer.from(argument, 'utf8').toString('latin1');
  return Buffer.from(
    bytes.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
}

export function isoTime(nanoseconds: bigint): string {
  const milliseconds = Number(nanoseconds / 1_000_000n);
  return Math.abs(milliseconds) <= 8.64e15 ? new Date(milliseconds).toISOString() : `${nanoseconds} ns`;
}

/** `1 record`, `2 records`, `2 addresses`. */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : noun.endsWith('s') ? 'es' : 's'}`;
}

/** Columns set apart by two blanks; the last one is not padded. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  return rows
    .map((row) =>
      row
        .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] as number)))
        .join('  '),
    )
    .map((line) => `${line}\n`)
    .join('');
}

const PROGRESS_INTERVAL_MS = 200;

/** One line of progress on standard error, rewritten in place; silent unless that is a terminal. */
export class Progress {
  #last = 0;
  #shown = false;

  /** `text` is called only when there is something to show. */
  update(text: () => string): void {
    if (!process.stderr.isTTY) return;
    const now = performance.now();
    if (now - this.#last < PROGRESS_INTERVAL_MS) return;
    this.#last = now;
    this.#shown = true;
    process.stderr.write(`\r\x1b[K${text()}`);
  }

  end(): void {
    if (this.#shown) process.stderr.write('\r\x1b[K');
    this.#shown = false;
  }
}
