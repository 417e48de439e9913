/** `%hh` and `+` decoded; what is no valid escape stays as it is. */
export function percentDecode(text: string): string {
  if (!text.includes('%')) return text.includes('+') ? text.replaceAll('+', ' ') : text;
  return text.replace(/\+|%([0-9A-Fa-f]{2})/g, (match, hex: string | undefined) =>
    hex === undefined && match === '+' ? ' ' : String.fromCharCode(Number.parseInt(hex as string, 16)),
  );
}

/** The same with `%uhhhh`, as IIS has it: the low byte, and full-width ASCII as the ASCII it looks like. */
export function percentDecodeUnicode(text: string): string {
  return text.replace(/\+|%u([0-9A-Fa-f]{4})|%([0-9A-Fa-f]{2})/g, (match, wide?: string, narrow?: string) => {
    if (match === '+') return ' ';
    return wide === undefined ? String.fromCharCode(Number.parseInt(narrow as string, 16)) : lowByte(wide);
  });
}

/** Of four hexadecimal digits. */
export function lowByte(hex: string): string {
  const code = Number.parseInt(hex, 16);
  const low = code & 0xff;
  const fullWidth = code >= 0xff01 && code <= 0xff5e;
  return String.fromCharCode(fullWidth ? low + 0x20 : low);
}
