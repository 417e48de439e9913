import { LineCounter, parseAllDocuments } from 'yaml';
import { invalid } from '../input.js';

/** A configuration as it was given, and where in it something stands. */
export interface Source {
  readonly data: unknown;
  /** `line 7`, or undefined where the source has no lines. */
  readonly lineOf: (path: readonly (string | number)[]) => number | undefined;
}

/** Characters of a YAML text, at most. */
const MAX_TEXT = 2 ** 20;
/** Nodes that aliases may stand for in all. */
const MAX_ALIASES = 100;

/**
 * Reads YAML 1.2, or takes an object as it is. Throws `invalid_option` for what is no YAML, more than one document, a name that stands
 * twice in one mapping, and for more than 1 MiB of text or 100 nodes by alias. No message shows any of the text: there may be passwords in it.
 */
export function readSource(given: unknown): Source {
  if (typeof given === 'string') return readYaml(given);
  if (typeof given === 'object' && given !== null) return { data: given, lineOf: () => undefined };
  throw invalid(
    'source',
    `the configuration of stores is YAML text or an object, got ${given === null ? 'null' : `a ${typeof given}`}`,
  );
}

function readYaml(text: string): Source {
  if (text.length > MAX_TEXT) {
    throw invalid(
      'source',
      `the configuration of stores may have ${MAX_TEXT} characters, got ${text.length}`,
    );
  }
  const lines = new LineCounter();
  try {
    const documents = parseAllDocuments(text, {
      lineCounter: lines,
      prettyErrors: false,
      uniqueKeys: true,
      stringKeys: true,
      version: '1.2',
      logLevel: 'error',
    });
    if (!Array.isArray(documents) || documents.length !== 1) {
      throw invalid('source', `the configuration of stores is one YAML document, got ${documents.length}`);
    }
    const [document] = documents;
    const problem = document?.errors[0] ?? document?.warnings[0];
    if (problem !== undefined) {
      const { line, col } = lines.linePos(problem.pos[0]);
      throw invalid(
        'source',
        `the configuration of stores is no YAML: line ${line}, column ${col}: ${problem.code}`,
      );
    }
    return {
      data: document?.toJS({ maxAliasCount: MAX_ALIASES }) as unknown,
      lineOf: (path) => {
        const node = document?.getIn(path, true) as { readonly range?: readonly number[] } | undefined;
        const offset = node?.range?.[0];
        return offset === undefined ? undefined : lines.linePos(offset).line;
      },
    };
  } catch (error) {
    // Too many aliases, or nested more deeply than the stack of the parser.
    if (error instanceof ReferenceError) {
      throw invalid(
        'source',
        `the configuration of stores stands for more than ${MAX_ALIASES} nodes by alias; write them out`,
      );
    }
    if (error instanceof RangeError) {
      throw invalid('source', 'the configuration of stores is nested too deeply');
    }
    throw error;
  }
}
