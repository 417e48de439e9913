import { fileURLToPath } from 'node:url';
import { type Backend, Collections } from 'wafstate';
import { loadRules } from 'wafstate/seclang';
import type { Operation } from '../load/closed-loop.js';

/** Twenty rules with state, the same file for every engine of rules. */
export const RULES = fileURLToPath(new URL('../rules/stateful.conf', import.meta.url));

const HEADERS = [
  ['Host', 'shop.example'],
  ['User-Agent', 'Mozilla/5.0 (X11; Linux x86_64)'],
  ['Accept', 'text/html,application/xhtml+xml'],
  ['Content-Type', 'application/x-www-form-urlencoded'],
  ['Content-Length', '25'],
  ['Cookie', 'theme=dark; sid=0123456789abcdef0123456789abcdef'],
] as const;
const BODY = Buffer.from('user=alice&password=wrong');
const RESPONSE = { status: 401, headers: [['Content-Type', 'text/html']] } as const;

/** One failed login of an address through all five phases, and its state stored: what the guard does without the server. */
export function ruledRequest(backend: Backend): Operation {
  const rules = loadRules(RULES);
  const collections = new Collections({ backend, ...rules.collectionOptions });
  return async (key) => {
    const tx = collections.begin();
    const evaluation = rules.begin(tx, {
      clientAddress: key,
      clientPort: 40_000,
      serverAddress: '127.0.0.1',
      serverPort: 80,
      method: 'POST',
      uri: '/login?next=%2Faccount',
      httpVersion: '1.1',
      headers: HEADERS,
    });
    evaluation.run(1);
    evaluation.setBody(BODY);
    evaluation.run(2);
    evaluation.setResponse(RESPONSE);
    evaluation.run(3);
    evaluation.run(4);
    evaluation.run(5);
    if (evaluation.decision !== undefined)
      throw new Error('the rules refused a request that they must let pass');
    const committed = await tx.processLogging();
    tx.close();
    return committed;
  };
}
