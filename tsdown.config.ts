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
    entry: [
      'src/index.ts',
      'src/*/index.ts',
      'src/cli/main.ts',
      'src/backend/lmdb/writer.ts',
      'src/backend/lmdb/*-child.ts',
    ],
    outExtensions: () => ({ js: '.js', dts: '.d.ts' }),
  },
  {
    ...shared,
    format: 'cjs',
    entry: ['src/index.ts', 'src/*/index.ts'],
    outExtensions: () => ({ js: '.cjs', dts: '.d.cts' }),
  },
  {
    // The benchmark, which `wafstate bench` runs. It takes the package by its name, as a user does, and a few internals by
    // `#dist/`, so that what it measures is what is shipped.
    ...shared,
    clean: false,
    dts: false,
    outDir: 'dist/bench',
    format: 'esm',
    entry: ['bench/main.ts', 'bench/subject-host.ts', 'bench/subjects/echo-worker.ts'],
    outExtensions: () => ({ js: '.js' }),
    deps: { neverBundle: [/^wafstate($|\/)/, /^#dist\//] },
    copy: [
      { from: 'bench/limit/limit.c', to: 'dist/bench/limit' },
      { from: 'bench/modsecurity/modsecurity.cc', to: 'dist/bench/modsecurity' },
      { from: 'bench/rules/stateful.conf', to: 'dist/bench/rules' },
      { from: 'bench/peers/package.json', to: 'dist/bench/peers' },
      { from: 'bench/peers/package-lock.json', to: 'dist/bench/peers' },
    ],
  },
]);
