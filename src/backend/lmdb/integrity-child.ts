import { WafStateError } from '../../contract/errors.js';
import { checkIntegrity } from './file/integrity.js';
import { pinSnapshot } from './snapshot-pin.js';

/**
 * A process of its own that reads everything in an environment: `node integrity-child.js DIRECTORY`. One line of JSON each on standard output: now
 * and then the number of records read so far, and at the end the report, or the error for which there is none. What takes this process down takes nobody else.
 */
const directory = process.argv[2] as string;

function send(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

try {
  const report = await checkIntegrity(
    directory,
    () => pinSnapshot(directory),
    (records) => send({ records }),
  );
  send({ report });
} catch (error) {
  if (!(error instanceof WafStateError)) throw error;
  send({ error: { code: error.code, message: error.message } });
}
