import { WafStateError } from '../contract/errors.js';
import { lintRules, loadRules, type RuleSet } from '../seclang/index.js';
import { type Arguments, type CommandSpec, EXIT } from './arguments.js';
import { print } from './output.js';
import { counted } from './terminal.js';

export const LINT: CommandSpec = {
  name: 'lint',
  summary: 'Loads SecLang rules and tells what in them commonly goes wrong.',
  operands: ['FILE…'],
  options: {
    skip: { type: 'flag', help: 'leave out what is not supported, with a warning, instead of ending there' },
  },
  notes: `Several files are one set of rules, in their order. Warns of a variable that is set and never expires, expirevar and deprecatevar
for a name that is never set, a collection that is used and never bound, a counter tested with @eq, a number that is none,
and a skipAfter without its marker. Ends with status 1 if there is a warning, and 3 if the rules do not load.

  wafstate lint crs-setup.conf rules/*.conf`,
};

/** The way out that `loadRules` tells programs; here it is an option of the command line. */
const LOAD_ADVICE = /; take the rule out, or load with .*$/;

export function lint(args: Arguments): Promise<number> {
  const rules = load(args.operands, args.flag('skip'));
  // What was left out needs no word on how to leave it out.
  const left = rules.warnings.map((warning) => ({
    ...warning,
    message: warning.message.replace(LOAD_ADVICE, '; it is left out'),
  }));
  const warnings = [...left, ...lintRules(rules)];
  if (args.flag('json')) print(`${JSON.stringify({ rules: rules.size, warnings })}\n`);
  else {
    for (const { message } of warnings) print(`${message}\n`);
    print(`${counted(rules.size, 'rule')}, ${counted(warnings.length, 'warning')}\n`);
  }
  return Promise.resolve(warnings.length === 0 ? EXIT.success : EXIT.finding);
}

function load(files: readonly string[], skip: boolean): RuleSet {
  try {
    return loadRules(files, { unsupported: skip ? 'skip' : 'error' });
  } catch (error) {
    if (!(error instanceof WafStateError && error.code === 'unsupported')) throw error;
    const message = error.message.replace(
      LOAD_ADVICE,
      '; take the rule out, or give --skip, which leaves it out and warns',
    );
    throw new WafStateError(error.code, message, { details: error.details, cause: error });
  }
}
