/**
 * One color a subject, the same in every chart: native blue, TypeScript green, the others warm, and what the machine allows
 * in the colors of the text. Each stands out on a light page and on a dark one.
 */
const COLORS: Readonly<Record<string, string>> = {
  'lmdb-native': '#2f6fde',
  'shared-memory': '#2f6fde',
  native: '#2f6fde',
  'lmdb-typescript': '#2a9d7f',
  memory: '#2a9d7f',
  typescript: '#2a9d7f',
  encode: 'var(--muted)',
  'transaction-per-commit': '#c2571a',
  'lmdb-json': '#d99a1c',
  json: '#d99a1c',
  'better-sqlite3': '#9a6fb0',
  'rate-limiter-memory': '#c8455a',
  'rate-limiter-redis': '#c8455a',
  limit: 'var(--strong)',
  'limit-tuned': 'var(--muted)',
  'settled-promises': 'var(--muted)',
};

/** Grey for a subject that has none. */
export function colorOf(subject: string): string {
  return COLORS[subject] ?? '#888888';
}
