import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Contender } from '../contender.js';
import type { Sample } from '../load/closed-loop.js';
import { RULES } from '../subjects/ruled-request.js';

/** libmodsecurity 3: bench/modsecurity/modsecurity.cc, linked to the library of the distribution. */

export const MODSECURITY_TITLE = 'libmodsecurity 3, collections in memory';

const SOURCE = fileURLToPath(new URL('./modsecurity.cc', import.meta.url));

/** Compiles the program into `directory` and returns its path. Throws with the compiler's words, or the reason why there is none. */
export function buildModsecurity(directory: string): string {
  const compiler = process.env['CXX'] ?? 'c++';
  const program = join(directory, 'modsecurity');
  execFileSync(
    compiler,
    ['-O3', '-std=c++17', '-Wall', '-Wextra', '-Werror', SOURCE, '-o', program, '-lmodsecurity'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  return program;
}

export interface ModsecurityAnswer {
  readonly transactions: number;
  readonly seconds: number;
  readonly refused: number;
  /** Of GLOBAL:requests, which the last rule of every transaction counts. */
  readonly state: string;
}

/** One round of the program, after one transaction of each address that is not counted. */
export async function runModsecurity(
  program: string,
  { keys, milliseconds }: { readonly keys: number; readonly milliseconds: number },
): Promise<ModsecurityAnswer> {
  const { stdout } = await promisify(execFile)(program, [RULES, String(keys), String(milliseconds / 1000)]);
  return JSON.parse(stdout) as ModsecurityAnswer;
}

export function modsecurityContender(program: string, keys: number, setting: string): Contender {
  return {
    subject: 'libmodsecurity',
    title: MODSECURITY_TITLE,
    role: 'other',
    setting,
    round: async (milliseconds): Promise<Sample> => {
      const { transactions, seconds, refused, state } = await runModsecurity(program, { keys, milliseconds });
      if (refused > 0 || Number(state) !== transactions + keys) {
        throw new Error(`libmodsecurity counted ${state} of ${transactions + keys} and refused ${refused}`);
      }
      return {
        operations: transactions,
        acknowledged: transactions,
        seconds,
        latency: undefined,
        mainThreadMicroseconds: undefined,
        residentBytes: 0,
      };
    },
    close: async () => undefined,
  };
}
