/** SecLang: the rule language of ModSecurity, as far as it keeps state between requests. */

export {
  type ActionPlan,
  type CompileActionsOptions,
  compileActions,
  type ResolveMacro,
} from './action-plan.js';
export { type CompileRulesOptions, compileRules, loadRules } from './compile-rules.js';
export { type DiagnosticCounts, type DiagnosticReason, Diagnostics } from './diagnostics.js';
export type { Decision, Evaluation, RuleMatch } from './evaluation.js';
export type { Cause, Explanation } from './explanation.js';
export { lintRules } from './lint.js';
export type { RequestFacts, ResponseFacts } from './request.js';
export type { EngineMode, Phase } from './rule.js';
export type { RuleSet, RuleWarning } from './rule-set.js';
