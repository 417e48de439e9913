import type { RecordName } from '../contract/space.js';
import { type Arguments, type CommandSpec, EXIT } from './arguments.js';
import { describeRecord, STATE_OPTIONS, withState } from './state.js';
import { Progress } from './terminal.js';

export const VERIFY: CommandSpec = {
  name: 'verify',
  summary: 'Reads every record and checks its checksum and structure.',
  operands: [],
  options: { path: STATE_OPTIONS.path },
  notes: `Ends with status 1 if a record is corrupt, and names it: 'wafstate delete' removes it, the others stay readable.

  wafstate verify --path ./state`,
};

/** A damaged file may hold any number of damaged records: those beyond this many are counted and not named. */
const MAX_NAMED = 1000;

export async function verify(args: Arguments): Promise<number> {
  return withState(args, 'read', async ({ backend, now }) => {
    const progress = new Progress();
    const corrupt: { collection: string; application: string; key: string; reason: string }[] = [];
    let [records, variables, corruptRecords] = [0, 0, 0];
    let after: RecordName | undefined;
    do {
      const page = await backend.scan({ now, after, limit: 1000, hidden: true });
      for (const { record, snapshot, error } of page.entries) {
        records++;
        if (snapshot !== undefined) variables += snapshot.variables.size;
        else {
          corruptRecords++;
          if (corrupt.length < MAX_NAMED) corrupt.push({ ...describeRecord(record), reason: error.message });
        }
      }
      after = page.next;
      progress.update(() => `${records.toLocaleString('en')} records read`);
    } while (after !== undefined);
    progress.end();

    if (args.flag('json')) {
      process.stdout.write(`${JSON.stringify({ records, variables, corruptRecords, corrupt })}\n`);
    } else {
      for (const { collection, application, key, reason } of corrupt) {
        process.stdout.write(
          `corrupt: ${collection} ${key}${application === '' ? '' : ` (application ${application})`}: ${reason}\n`,
        );
      }
      process.stdout.write(
        `${records} records with ${variables} variables read, ${corruptRecords} corrupt\n`,
      );
    }
    return corruptRecords === 0 ? EXIT.success : EXIT.finding;
  });
}
