import { lintRules, loadRules } from '../seclang/index.js';
import { type Arguments, type CommandSpec, EXIT } from './arguments.js';
import { print } from './output.js';

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

export function lint(args: Arguments): Promise<number> {
  const rules = loadRules(args.operands, { unsupported: args.flag('skip') ? 'skip' : 'error' });
  const warnings = [...rules.warnings, ...lintRules(rules)];
  if (args.flag('json')) print(`${JSON.stringify({ rules: rules.size, warnings })}\n`);
  else {
    for (const { message } of warnings) print(`${message}\n`);
    print(`${rules.size} rules, ${warnings.length} warnings\n`);
  }
  return Promise.resolve(warnings.length === 0 ? EXIT.success : EXIT.finding);
}
