import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/implementation.ts',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // .ci/run counts the tests from this file.
    reporters: process.env['CI']
      ? ['default', ['json', { outputFile: 'build/test-results.json' }]]
      : ['default'],
    server: {
      deps: {
        // Two ways to import. A unit test takes a source file ('../../src/record/encode.js'), which
        // vitest transforms. A test that opens an engine takes the package by its name ('wafstate',
        // 'wafstate/testing'): that resolves through "exports" to dist/, as it does for a user, and
        // Node loads it itself, since worker threads and child processes run the built files. Do not
        // mix the two in one test: they are two copies of every module. `npm test` builds dist/ first.
        external: [/\/dist\/.*\.c?js$/],
      },
    },
  },
});
