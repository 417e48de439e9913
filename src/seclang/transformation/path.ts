/** Resolves `.` and `..` and takes out doubled slashes. A leading `..` stays in a relative path, and is nothing in an absolute one. */
export function normalizePath(path: string): string {
  if (path === '') return '';
  const absolute = path.startsWith('/');
  const kept: string[] = [];
  const parts = path.split('/');
  for (const part of parts) {
    if (part === '' || part === '.') continue;
    if (part !== '..') kept.push(part);
    else if (kept.length > 0 && kept.at(-1) !== '..') kept.pop();
    else if (!absolute) kept.push(part);
  }
  const last = parts.at(-1);
  const isDirectory = last === '' || last === '.' || last === '..';
  const body = kept.join('/');
  return `${absolute ? '/' : ''}${body}${isDirectory && body !== '' && last !== '..' ? '/' : ''}`;
}

/** The same after backslashes have become slashes. */
export function normalizePathWin(path: string): string {
  return normalizePath(path.replaceAll('\\', '/'));
}
