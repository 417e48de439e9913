import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type LimitMethod, type LimitRequest, runLimit } from './limit/program.js';
import type { Sample } from './load/closed-loop.js';
import type { KeySet } from './load/keys.js';
import type { Result, Role } from './report.js';
import { spread } from './statistics.js';
import type { Durability, OperationName, Subject } from './subject.js';
import { SubjectProcess } from './subject-process.js';

/** Who takes part in a comparison: one subject in one setting, asked for one round of load at a time. */
export interface Contender {
  readonly subject: string;
  readonly title: string;
  readonly role: Role;
  readonly setting: string;
  round(milliseconds: number): Promise<Sample>;
  close(): Promise<void>;
}

export interface LoadSetting {
  readonly setting: string;
  readonly operation: OperationName;
  readonly keys: KeySet;
  readonly callers: number;
}

/**
 * A subject under several settings, one contender each, over one process and one opened store. Closing the last of them ends the
 * process.
 */
export async function contend(
  subject: Subject,
  { directory, durability }: { readonly directory: string; readonly durability: Durability },
  settings: readonly LoadSetting[],
): Promise<Contender[]> {
  const home = join(directory, `${subject.id}-${durability}`);
  mkdirSync(home, { recursive: true });
  const process = await SubjectProcess.start(subject, { directory: home, durability });
  for (const [index, { operation, keys }] of settings.entries()) {
    const same = (other: LoadSetting) => JSON.stringify(other.keys) === JSON.stringify(keys);
    if (settings.findIndex(same) === index) await process.call('prepare', { operation, keys });
  }
  let open = settings.length;
  return settings.map(({ setting, operation, keys, callers }) => ({
    subject: subject.id,
    title: subject.title,
    role: subject.role,
    setting,
    round: (milliseconds) => process.call('closedLoop', { operation, keys, callers, milliseconds }),
    close: async () => {
      open--;
      if (open === 0) await process.close();
    },
  }));
}

export const LIMIT_TITLES: Readonly<Record<LimitMethod, string>> = {
  put: 'C on liblmdb (the limit)',
  tuned: 'C on liblmdb, sorted, by cursor',
};

/** The C program as a contender. */
export function limitContender(
  program: string,
  request: Omit<LimitRequest, 'milliseconds' | 'directory'> & { readonly directory: string },
  setting: string,
): Contender {
  const { batch, durability, method } = request;
  const directory = join(request.directory, `limit-${durability}-${batch}-${method}`);
  return {
    subject: method === 'put' ? 'limit' : 'limit-tuned',
    title: LIMIT_TITLES[method],
    role: 'bound',
    setting,
    round: (milliseconds) => runLimit(program, { ...request, directory, milliseconds }),
    close: async () => undefined,
  };
}

/** The rounds of one contender as a result. */
export function summarize(contender: Contender, samples: readonly Sample[]): Result {
  const { subject, title, role, setting } = contender;
  const cpu = samples.map((each) => each.mainThreadMicroseconds).filter((each) => each !== undefined);
  const resident = Math.max(...samples.map((each) => each.residentBytes));
  const latencies = samples.map((each) => each.latency).filter((each) => each !== undefined);
  return {
    subject,
    title,
    role,
    setting,
    opsPerSecond: spread(samples.map(({ operations, seconds }) => operations / seconds)),
    ...(latencies.length > 0 && {
      latency: {
        p50: spread(latencies.map(({ p50 }) => p50)).median,
        p99: spread(latencies.map(({ p99 }) => p99)).median,
        p999: spread(latencies.map(({ p999 }) => p999)).median,
      },
    }),
    ...(cpu.length > 0 && { mainThreadMicroseconds: spread(cpu) }),
    ...(resident > 0 && { residentBytes: resident }),
  };
}
