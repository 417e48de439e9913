/** The tests that every engine must pass, for those who write one. See docs/backends.md. */

export { conformance } from './conformance.js';
export type { Runner, Subject } from './runner.js';
