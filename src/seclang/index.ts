/** SecLang: the rule language of ModSecurity, as far as it keeps state between requests. */

export {
  type ActionPlan,
  type CompileActionsOptions,
  compileActions,
  type ResolveMacro,
} from './action-plan.js';
export { type DiagnosticCounts, type DiagnosticReason, Diagnostics } from './diagnostics.js';
