/** The tests that every engine must pass, for those who write one. See docs/backends.md. */

export { conformance } from './conformance.js';
export type { Runner, Subject } from './runner.js';
export { readStoreCases, type StoreCase } from './store/case-file.js';
export { StoreCases } from './store/run.js';
export { STORE_SUBJECTS, type StoreSubject } from './store/subject.js';
