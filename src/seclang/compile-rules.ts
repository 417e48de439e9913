import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fromBytes } from '../contract/bytes.js';
import { WafStateError } from '../contract/errors.js';
import { choiceOption, refuseUnknownOptions } from '../contract/options.js';
import { MAX_APPLICATION_ID_BYTES } from '../contract/space.js';
import { parseActionList } from './action-list.js';
import { Diagnostics } from './diagnostics.js';
import { type Directive, readDirectives } from './lexer.js';
import { parseOperator } from './operators.js';
import { loadError, type Piece, type Position, quote } from './position.js';
import {
  type Disruption,
  type EngineMode,
  type IdRange,
  type Item,
  isIn,
  type Link,
  type Phase,
  type Rule,
} from './rule.js';
import {
  checkMacros,
  compileRuleActions,
  parseEngineMode,
  parseIdRanges,
  type RuleActions,
} from './rule-actions.js';
import { RuleSet, type RuleWarning } from './rule-set.js';
import { ruleBytes } from './rule-text.js';
import { parseTargets } from './targets.js';
import { isUnsupported, unsupported } from './unsupported.js';

export interface CompileRulesOptions {
  /** The name of the file in messages, and where Include and …FromFile look for files. Default `rules`, in the working directory. */
  readonly file?: string | undefined;
  /** What a construct that is not carried out here is: an error, or left out (its whole rule) with a warning. Default `error`. */
  readonly unsupported?: 'error' | 'skip' | undefined;
  /**
   * What becomes of a regular expression that may backtrack beyond bounds and that the linear engine cannot run: a load error, or it
   * backtracks on the first 4096 bytes of a value. Default `linear`, the error.
   */
  readonly regex?: 'linear' | 'backtracking' | undefined;
  readonly diagnostics?: Diagnostics | undefined;
}

/** Compiles the text of one rule file. Throws `invalid_option` or `unsupported`, with file, line and fix. */
export function compileRules(text: string, options: CompileRulesOptions = {}): RuleSet {
  const compiler = new Compiler(options);
  const file = options.file ?? 'rules';
  compiler.read(ruleBytes('compileRules', text, { file, line: 1 }), file);
  return compiler.finish();
}

/** Compiles rule files in their order, as one set. Throws the same, and `invalid_option` for a file that cannot be read. */
export function loadRules(paths: string | readonly string[], options: CompileRulesOptions = {}): RuleSet {
  const compiler = new Compiler(options);
  const files = typeof paths === 'string' ? [paths] : paths;
  if (!Array.isArray(files) || files.length === 0 || !files.every((path) => typeof path === 'string')) {
    throw new WafStateError(
      'invalid_option',
      'loadRules takes the path of a rule file, or an array of such',
      {
        details: { option: 'paths' },
      },
    );
  }
  for (const path of files) {
    compiler.readFile(resolve(path), { file: path, line: 1 });
  }
  return compiler.finish();
}

const DEFAULT_TIMEOUT = 3600;
const MAX_TIMEOUT = 2_592_000;
/** Files that include each other, and files in all: an include loop through patterns must end too. */
const MAX_FILES = 1000;
const MAX_FILE_BYTES = 64 * 2 ** 20;

interface Defaults {
  readonly disruption: Disruption;
  readonly actions: RuleActions | undefined;
}

/** A rule under construction: its first link has given the rest. */
interface OpenChain {
  readonly head: RuleActions;
  readonly links: Link[];
  readonly position: Position;
  readonly phase: Phase;
}

class Compiler {
  readonly #options: CompileRulesOptions;
  readonly #skipsUnsupported: boolean;
  readonly #regex: 'linear' | 'backtracking';
  readonly #items: Item[] = [];
  readonly #ids = new Map<number, Position>();
  readonly #warnings: RuleWarning[] = [];
  readonly #defaults = new Map<Phase, Defaults>();
  readonly #reading: string[] = [];
  #files = 0;
  #mode: EngineMode = 'on';
  #applicationId = '';
  #collectionTimeout = DEFAULT_TIMEOUT;
  #chain: OpenChain | undefined;
  /** The links of a chain that was left out are left out too. */
  #leavingOut = false;

  constructor(options: CompileRulesOptions) {
    refuseUnknownOptions('compileRules', options, ['file', 'unsupported', 'regex', 'diagnostics']);
    this.#options = options;
    this.#skipsUnsupported =
      choiceOption('compileRules', 'unsupported', options.unsupported, ['error', 'skip']) === 'skip';
    this.#regex = choiceOption('compileRules', 'regex', options.regex, ['linear', 'backtracking']);
  }

  readFile(path: string, from: Position): void {
    let real: string;
    let content: Buffer;
    try {
      real = realpathSync(path);
      content = readFileSync(real);
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? 'failure';
      throw loadError(
        from,
        'Include',
        `cannot read ${quote(path)} (${reason})`,
        'name a file that is there and readable',
      );
    }
    if (this.#reading.includes(real)) {
      throw loadError(from, 'Include', `${quote(path)} includes itself`, 'take one Include of the loop out');
    }
    if (++this.#files > MAX_FILES || content.length > MAX_FILE_BYTES) {
      throw loadError(
        from,
        'Include',
        `there are more than ${MAX_FILES} files, or more than ${MAX_FILE_BYTES} bytes in one`,
        'include fewer, or smaller ones',
      );
    }
    this.#reading.push(real);
    this.read(fromBytes(content), path);
    this.#reading.pop();
  }

  read(text: string, file: string): void {
    for (const directive of readDirectives(text, file)) this.#directive(directive);
    if (this.#chain !== undefined) {
      throw loadError(
        this.#chain.position,
        'chain',
        'the chain has no next rule in its file',
        'add one, or drop the chain action',
      );
    }
    this.#leavingOut = false;
  }

  finish(): RuleSet {
    this.#checkMarkers();
    return new RuleSet({
      items: this.#items,
      mode: this.#mode,
      applicationId: this.#applicationId,
      collectionTimeout: this.#collectionTimeout,
      warnings: this.#warnings,
      diagnostics: this.#options.diagnostics ?? new Diagnostics(),
    });
  }

  #directive(directive: Directive): void {
    const { name, words, position } = directive;
    const key = name.toLowerCase();
    const isRule = key === 'secrule' || key === 'secaction';
    if (this.#chain !== undefined && key !== 'secrule') {
      throw loadError(
        position,
        name,
        `${name} stands inside of a chain`,
        'let the next SecRule of the chain follow its chain action',
      );
    }
    try {
      if (isRule) {
        this.#rule(key === 'secrule' ? words : [undefined, undefined, ...words], name, position);
        return;
      }
      this.#leavingOut = false;
      if (!Object.hasOwn(this.#directives, key))
        throw unsupported(position, name, `there is no directive ${quote(name)} here`);
      (this.#directives[key] as (words: readonly Piece[], position: Position) => void)(words, position);
    } catch (error) {
      if (!this.#skipsUnsupported || !isUnsupported(error)) throw error;
      this.#warn(error.details.option ?? name, position, error.message);
      if (isRule) this.#leaveOut(words[key === 'secrule' ? 2 : 0]);
    }
  }

  /** After a construct that is left out: nor does the rest of its chain make sense. */
  #leaveOut(actions: Piece | undefined): void {
    this.#chain = undefined;
    this.#leavingOut = actions !== undefined && parseActionList(actions).some(({ name }) => name === 'chain');
  }

  #warn(construct: string, { file, line }: Position, message: string): void {
    this.#warnings.push({ file, line, construct, message });
  }

  readonly #directives: Readonly<Record<string, (words: readonly Piece[], position: Position) => void>> = {
    secmarker: (words, position) => {
      this.#items.push({ type: 'marker', name: only(words, 'SecMarker', 'END-OF-CHECKS', position) });
    },
    secruleengine: (words, position) => {
      this.#mode = parseEngineMode(only(words, 'SecRuleEngine', 'On', position), 'SecRuleEngine', position);
    },
    secdefaultaction: (words, position) => this.#defaultAction(words, position),
    seccollectiontimeout: (words, position) => {
      const text = only(words, 'SecCollectionTimeout', '600', position);
      const seconds = /^\d{1,9}$/.test(text) ? Number(text) : 0;
      if (seconds < 1 || seconds > MAX_TIMEOUT) {
        throw loadError(
          position,
          'SecCollectionTimeout',
          `SecCollectionTimeout is ${quote(text)}`,
          `write 1 to ${MAX_TIMEOUT} seconds`,
        );
      }
      this.#collectionTimeout = seconds;
    },
    secwebappid: (words, position) => {
      const id = only(words, 'SecWebAppId', 'shop', position);
      if (id.length > MAX_APPLICATION_ID_BYTES) {
        throw loadError(
          position,
          'SecWebAppId',
          `SecWebAppId has ${id.length} bytes`,
          `write at most ${MAX_APPLICATION_ID_BYTES}`,
        );
      }
      this.#applicationId = Buffer.from(id, 'latin1').toString('utf8');
    },
    seccomponentsignature: (words, position) => {
      only(words, 'SecComponentSignature', '"OWASP_CRS/3.3.4"', position);
    },
    secruleremovebyid: (words, position) => {
      const ranges = parseIdRanges(
        words.map(({ text }) => text),
        'SecRuleRemoveById',
        position,
      );
      if (ranges.length === 0)
        throw loadError(
          position,
          'SecRuleRemoveById',
          'SecRuleRemoveById names no rule',
          'write ids and ranges',
        );
      this.#remove(ranges);
    },
    include: (words, position) => {
      const pattern = only(words, 'Include', 'rules/*.conf', position);
      const paths = this.#expandInclude(pattern, position);
      if (paths.length === 0) {
        const { file, line } = position;
        this.#warn('Include', position, `${file}:${line}: ${quote(pattern)} matches no file`);
      }
      for (const path of paths) this.readFile(path, position);
    },
  };

  /** Beside the file that includes; a * in the last part stands for any text, in byte order of the names. */
  #expandInclude(pattern: string, position: Position): string[] {
    const path = resolve(dirname(position.file), Buffer.from(pattern, 'latin1').toString('utf8'));
    const name = basename(path);
    if (!name.includes('*')) return [path];
    const parts = name.split('*');
    let entries: string[];
    try {
      entries = readdirSync(dirname(path));
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? 'failure';
      throw loadError(
        position,
        'Include',
        `cannot read the directory of ${quote(pattern)} (${reason})`,
        'name one that is there',
      );
    }
    return entries
      .filter((entry) => matchesParts(entry, parts))
      .sort()
      .map((entry) => join(dirname(path), entry));
  }

  #remove(ranges: readonly IdRange[]): void {
    for (let index = this.#items.length - 1; index >= 0; index--) {
      const item = this.#items[index] as Item;
      if (item.type === 'rule' && item.id !== undefined && isIn(item.id, ranges))
        this.#items.splice(index, 1);
    }
  }

  #defaultAction(words: readonly Piece[], position: Position): void {
    const piece = onlyPiece(words, 'SecDefaultAction', '"phase:1,log,pass"', position);
    const actions = compileRuleActions(parseActionList(piece));
    const { disruption = { type: 'pass' }, phase = 2 } = actions;
    if (
      disruption.type === 'block' ||
      actions.id !== undefined ||
      actions.chain ||
      actions.stateActions.length > 0
    ) {
      throw loadError(
        position,
        'SecDefaultAction',
        'SecDefaultAction holds what belongs to one rule: block, id, chain, or an action that changes state',
        'write a phase, log flags, transformations and pass, deny, drop, allow or redirect',
      );
    }
    this.#defaults.set(phase, { disruption, actions });
  }

  #rule(words: readonly (Piece | undefined)[], name: string, position: Position): void {
    const [targets, operator, actionPiece, ...rest] = words;
    if (this.#leavingOut) {
      this.#leaveOut(actionPiece);
      return;
    }
    const isAction = name.toLowerCase() === 'secaction';
    if (rest.length > 0 || (isAction ? actionPiece === undefined : operator === undefined)) {
      throw loadError(
        position,
        name,
        `${name} takes ${isAction ? 'one argument' : 'two or three arguments'}, got ${words.filter((word) => word !== undefined).length}`,
        isAction
          ? 'write SecAction "actions"'
          : 'write SecRule TARGETS "operator" "actions", with quotes around what has blanks',
      );
    }
    const actions = compileRuleActions(actionPiece === undefined ? [] : parseActionList(actionPiece));
    const open = this.#chain;
    const phase = open?.phase ?? actions.phase ?? 2;
    if (open !== undefined) refuseInLink(actions, position);
    const link = this.#link(targets, operator, actions, phase);
    const chain = open ?? { head: actions, links: [], position, phase };
    chain.links.push(link);
    this.#chain = actions.chain ? chain : undefined;
    if (!actions.chain) this.#add(chain);
  }

  #link(targets: Piece | undefined, operator: Piece | undefined, actions: RuleActions, phase: Phase): Link {
    const { stateActions, controls, capture } = actions;
    if (targets === undefined || operator === undefined) {
      return { condition: undefined, stateActions, controls, capture };
    }
    const defaults = this.#defaults.get(phase)?.actions?.transformations ?? [];
    const at = { file: operator.file, line: operator.line };
    const parsed = parseOperator(operator.text, at, { regex: this.#regex });
    if (parsed.operator.argument !== undefined) checkMacros(parsed.operator.argument, at);
    return {
      condition: {
        targets: parseTargets(targets),
        transformations: actions.ownTransformations
          ? actions.transformations
          : [...defaults, ...actions.transformations],
        operator: parsed.operator,
        operatorName: parsed.name,
        negated: parsed.negated,
        written: `${targets.text} ${operator.text}`,
      },
      stateActions,
      controls,
      capture,
    };
  }

  #add({ head, links, position, phase }: OpenChain): void {
    const defaults = this.#defaults.get(phase);
    if (head.id !== undefined) {
      const other = this.#ids.get(head.id);
      if (other !== undefined) {
        throw loadError(
          position,
          'id',
          `the id ${head.id} is taken by ${other.file}:${other.line}`,
          'give each rule an id of its own',
        );
      }
      this.#ids.set(head.id, position);
    }
    const fallback: Disruption = defaults?.disruption ?? { type: 'pass' };
    const own = head.disruption ?? fallback;
    const rule: Rule = {
      type: 'rule',
      id: head.id,
      phase,
      links,
      disruption: own.type === 'block' ? fallback : own,
      status: head.status ?? defaults?.actions?.status,
      skip: head.skip,
      skipAfter: head.skipAfter,
      log: head.log ?? defaults?.actions?.log ?? true,
      auditLog: head.auditLog ?? defaults?.actions?.auditLog ?? true,
      message: head.message,
      logData: head.logData,
      tags: head.tags,
      severity: head.severity,
      revision: head.revision,
      position,
    };
    this.#items.push(rule);
  }

  /** A jump to a marker that does not follow skips the rest of the phase: likely not what was meant. */
  #checkMarkers(): void {
    const following = new Set<string>();
    for (let index = this.#items.length - 1; index >= 0; index--) {
      const item = this.#items[index] as Item;
      if (item.type === 'marker') following.add(item.name);
      else {
        if (item.skipAfter !== undefined && !following.has(item.skipAfter)) {
          this.#warn(
            'skipAfter',
            item.position,
            `${item.position.file}:${item.position.line}: no marker ${quote(item.skipAfter)} follows, so skipAfter skips the rest of the phase; add the SecMarker`,
          );
        }
        if (item.id !== undefined) following.add(String(item.id));
      }
    }
  }
}

/** What only the first rule of a chain may say. */
function refuseInLink(actions: RuleActions, position: Position): void {
  const given =
    actions.id !== undefined
      ? 'id'
      : actions.phase !== undefined
        ? 'phase'
        : actions.disruption !== undefined
          ? 'a disruptive action'
          : actions.skip > 0 || actions.skipAfter !== undefined
            ? 'skip'
            : undefined;
  if (given === undefined) return;
  throw loadError(
    position,
    'chain',
    `a later rule of a chain gives ${given}`,
    'give it in the first rule of the chain',
  );
}

function only(words: readonly Piece[], name: string, example: string, position: Position): string {
  return onlyPiece(words, name, example, position).text;
}

function onlyPiece(words: readonly Piece[], name: string, example: string, position: Position): Piece {
  const [word, ...rest] = words;
  if (word !== undefined && word.text !== '' && rest.length === 0) return word;
  throw loadError(
    position,
    name,
    `${name} takes one argument, got ${words.length}`,
    `write ${name} ${example}`,
  );
}

/** Whether the parts of a pattern, split at its stars, are found in order. */
function matchesParts(name: string, parts: readonly string[]): boolean {
  const first = parts[0] as string;
  const last = parts.at(-1) as string;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
    return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}
