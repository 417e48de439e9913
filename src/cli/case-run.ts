import { Collections } from '../collections/collections.js';
import type { Backend } from '../contract/backend.js';
import { type ByteString, decodeText, encodeText } from '../contract/bytes.js';
import type { Clock } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import { COLLECTION_SPACES } from '../contract/space.js';
import { compileRules, type RuleMatch, type RuleSet } from '../seclang/index.js';
import type { CaseExpectation, CaseFile, CaseRecord, CaseRequest } from './case-file.js';

/** Moves only when a case sleeps. */
class CaseClock implements Clock {
  #time = 1_800_000_000_000_000_000n;

  now(): bigint {
    return this.#time;
  }

  sleep(milliseconds: number): void {
    this.#time += BigInt(milliseconds) * 1_000_000n;
  }
}

interface Outcome {
  readonly status: number;
  readonly matches: readonly RuleMatch[];
}

/** Runs one case on an engine that nobody has used, and tells what was not as expected. `file`: where the rules look for their files. */
export async function runCase(file: CaseFile, backend: Backend, path: string): Promise<string[]> {
  let rules: RuleSet;
  try {
    rules = compileRules(file.rules.join('\n'), { file: path });
  } catch (error) {
    if (!(error instanceof WafStateError)) throw error;
    return file.loadError ? [] : [`the rules do not load: ${error.message}`];
  }
  if (file.loadError) return ['the rules load, and should not'];
  const clock = new CaseClock();
  const collections = new Collections({ backend, clock, ...rules.collectionOptions });
  const outcomes: Outcome[] = [];
  for (const request of file.requests) {
    clock.sleep(request.sleepMilliseconds);
    outcomes.push(await judge(request, rules, collections));
  }
  const failures = file.expect.flatMap((expected) =>
    compare(expected, outcomes[expected.request] as Outcome),
  );
  for (const record of file.recordsAfter) {
    if (await isStored(record, backend, clock.now(), rules)) continue;
    failures.push(
      `${record.collection}${record.key === undefined ? '' : ` ${record.key}`} holds no ${record.variable} = ${record.value}`,
    );
  }
  return failures;
}

async function judge(request: CaseRequest, rules: RuleSet, collections: Collections): Promise<Outcome> {
  using transaction = collections.begin();
  const evaluation = rules.begin(transaction, {
    clientAddress: request.clientAddress,
    method: request.method,
    uri: asBytes(request.uri),
    httpVersion: request.httpVersion,
    headers: request.headers.map(([name, value]) => [asBytes(name), asBytes(value)]),
  });
  evaluation.run(1);
  if (request.body !== undefined) evaluation.setBody(Buffer.from(request.body, 'utf8'));
  const refused = evaluation.run(2);
  // What the rules answer for the application has no headers of its own.
  evaluation.setResponse(refused === undefined ? request.response : { status: refused.status, headers: [] });
  evaluation.run(3);
  const decision = evaluation.run(4);
  if (refused === undefined && decision !== undefined) {
    evaluation.setResponse({ status: decision.status, headers: [] });
  }
  evaluation.run(5);
  await transaction.processLogging();
  return { status: decision?.status ?? request.response.status, matches: evaluation.matches };
}

/** Text as node:http would give it: its UTF-8, one character a byte. */
function asBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function compare(expected: CaseExpectation, { status, matches }: Outcome): string[] {
  const failures: string[] = [];
  const request = `request ${expected.request}`;
  const ids = new Set(matches.map(({ id }) => id));
  const found = ` (matched: ${[...ids].join(', ') || 'none'})`;
  for (const id of expected.matched)
    if (!ids.has(id)) failures.push(`${request}: rule ${id} did not match${found}`);
  for (const id of expected.notMatched)
    if (ids.has(id)) failures.push(`${request}: rule ${id} matched${found}`);
  if (expected.status !== undefined && expected.status !== status) {
    failures.push(`${request}: status ${status} instead of ${expected.status}`);
  }
  const { message } = expected;
  const texts = matches.flatMap(({ message, logData }) => [message ?? '', logData ?? '']);
  if (message !== undefined && !texts.some((text) => text.includes(message))) {
    failures.push(`${request}: no message contains '${message}'`);
  }
  return failures;
}

const PAGE = 1000;

async function isStored(
  expected: CaseRecord,
  backend: Backend,
  now: bigint,
  rules: RuleSet,
): Promise<boolean> {
  const space = COLLECTION_SPACES[expected.collection];
  const applicationId = encodeText(rules.collectionOptions.applicationId) as ByteString;
  const variable = encodeText(expected.variable.toLowerCase()) as ByteString;
  for (let after: Parameters<Backend['scan']>[0]['after']; ; ) {
    const page = await backend.scan({ now, space, applicationId, limit: PAGE, after });
    for (const { record, snapshot } of page.entries) {
      if (expected.key !== undefined && decodeText(record.key) !== expected.key) continue;
      const value = snapshot?.variables.get(variable)?.value;
      if (value !== undefined && decodeText(value) === expected.value) return true;
    }
    if (page.next === undefined) return false;
    after = page.next;
  }
}
