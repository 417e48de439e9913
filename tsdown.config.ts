import { defineConfig } from 'tsdown';

// One output file per source file (unbundle): dist/ mirrors src/, so a worker is found by
// `new URL('./writer.js', import.meta.url)` from the ES module and the CommonJS copy alike, and the
// addon loader finds the package root from either. A worker thread always runs the ES module copy.
const shared = {
  platform: 'node',
  target: 'node20.11',
  unbundle: true,
  outDir: 'dist',
  clean: true,
  logLevel: 'warn',
  dts: { sourcemap: false },
  sourcemap: true,
  hash: false,
  report: false,
} as const;

export default defineConfig([
  {
    ...shared,
    format: 'esm',
    entry: ['src/index.ts', 'src/*/index.ts', 'src/cli/main.ts', 'src/backend/lmdb/writer.ts'],
    outExtensions: () => ({ js: '.js', dts: '.d.ts' }),
  },
  {
    ...shared,
    format: 'cjs',
    entry: ['src/index.ts', 'src/*/index.ts'],
    outExtensions: () => ({ js: '.cjs', dts: '.d.cts' }),
  },
]);
