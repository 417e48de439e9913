import type { BenchCase } from '../bench-case.js';
import type { Result } from '../report.js';
import { spread } from '../statistics.js';
import type { ApplyRequest, ApplySample } from '../subject.js';
import { recordCodecs } from '../subjects/record-codecs.js';

export const RECORD_SIZES = [1, 16, 64] as const;

const CODECS: Readonly<Record<string, Pick<Result, 'title' | 'role'>>> = {
  native: { title: 'wafstate record, native', role: 'wafstate' },
  typescript: { title: 'wafstate record, TypeScript', role: 'wafstate' },
  json: { title: 'JSON.parse and JSON.stringify', role: 'other' },
  // Another kind of work than the rest, shown for its share in a commit.
  encode: { title: 'wafstate request encoding', role: 'bound' },
};

export function applySetting(variables: number, touched: ApplyRequest['touched']): string {
  if (variables === 1) return '1 variable';
  return `${variables} variables, ${touched === 'all' ? 'each' : 'one'} touched`;
}

const SETTINGS = RECORD_SIZES.flatMap((variables) =>
  (variables === 1 ? (['all'] as const) : (['all', 'one'] as const)).map((touched) => ({
    variables,
    touched,
  })),
);

export const recordApply: BenchCase = {
  id: 'record_apply',
  title: 'Applying a batch to a record',
  chart: 'rates',
  grouped: true,
  describe: () =>
    'Bytes of a record of integer variables and encoded requests in, bytes of the new record and the answers out, 64 requests ' +
    'a call as an engine makes it, each on what the one before it left; one add for every variable, or for one of them. ' +
    'Nothing is stored. By tinybench, in one process, in turn. JSON does the same change with JSON.parse and JSON.stringify, without limits, deadlines, checks or an answer. ' +
    'Request encoding is what the main thread does for such a batch.',
  run: async (context) => {
    const process = await context.start(recordCodecs);
    if (process === undefined) return [];
    const { rounds, roundMs } = context.scale;
    const results: Result[] = [];
    try {
      for (const { variables, touched } of SETTINGS) {
        const setting = applySetting(variables, touched);
        const samples: ApplySample[] = [];
        for (let round = 1; round <= rounds; round++) {
          context.say(`${setting}, round ${round} of ${rounds}`);
          samples.push(await process.call('apply', { variables, touched, milliseconds: roundMs / 4 }));
        }
        for (const codec of Object.keys(samples[0] ?? {})) {
          const about = CODECS[codec] as Pick<Result, 'title' | 'role'>;
          const opsPerSecond = spread(samples.map((sample) => sample[codec] as number));
          results.push({ subject: codec, ...about, setting, opsPerSecond });
        }
      }
    } finally {
      await process.close();
    }
    return results;
  },
};
