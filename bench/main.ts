/** What the command line uses of the benchmark. */
export { placesOf, setUpPeers } from './places.js';
export { renderTerminal } from './render/terminal.js';
export { caseIds, runBenchmarks } from './run.js';
