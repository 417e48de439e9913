import { loadError, type Position, quote } from './position.js';
import { compileMatcher, type Matcher, type MatcherOptions, NotLinear } from './regex/matcher.js';
import { PatternError, UnsupportedPattern } from './regex/parse.js';
import { unsupported } from './unsupported.js';

/** The matcher of a pattern that stands in a rule. Throws load errors; `construct` is where it stands. */
export function compilePattern(
  pattern: string,
  construct: '@rx' | 'target',
  position: Position,
  options: MatcherOptions,
): Matcher {
  try {
    return compileMatcher(pattern, options);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    const problem = `the regex ${quote(pattern)} ${error.message}`;
    if (!(error instanceof UnsupportedPattern)) throw loadError(position, construct, problem, 'mend it');
    const allowed = error instanceof NotLinear && construct === '@rx';
    throw unsupported(
      position,
      construct,
      problem,
      allowed ? "regex: 'backtracking', which lets it see the first 4096 bytes of a value" : undefined,
    );
  }
}
