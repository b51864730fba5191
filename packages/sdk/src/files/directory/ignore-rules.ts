import type { Excludes } from '../../runtime/contract/local-files.js';

/** Patterns to leave out, in the language of `.gitignore`: a pattern, a text of lines, or a list of either. */
export type IgnoreRules = string | readonly string[];

/** The rules as a question per path. Without rules nothing is left out. */
export async function compileIgnoreRules(rules: IgnoreRules | undefined): Promise<Excludes> {
  if (rules === undefined || rules.length === 0) return () => false;
  const { default: ignore } = await import('ignore');
  const matcher = ignore({ allowRelativePaths: true }).add(rules as string | string[]);
  return (path, type) => matcher.ignores(type === 'directory' ? `${path}/` : path);
}
