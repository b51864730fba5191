import type { IgnoreRules } from '@svc/sdk';
import { isVersionControl, versionControlNames } from '@svc/sdk/local-trees';
import type { Ignore } from 'ignore';
import { nameOf } from '../plan/tree.js';
import { ownPrefix } from './names.js';

/** The file of a local root whose lines are rules. It is never synchronized: the sandbox must not choose what it gets. */
export const ignoreFile = '.svcignore';

/** Rules of one directory, in the language of `.gitignore`. */
export interface RuleText {
  /** Directory that they hold for, relative to the root; '' is the root. */
  readonly directory: string;
  readonly rules: IgnoreRules;
}

/** The entries that are left out. */
export interface Exclusions {
  /** Returns true when a path is left out, itself and all below it. Its parents are asked first. */
  excludes(path: string, isDirectory: boolean): boolean;
  /** Names that are left out wherever they are: the remote side need not even list what is in them. */
  readonly names: readonly string[];
}

/**
 * Makes one question of all rules. Of two texts that speak of a path the later one counts, and the directory further
 * inside before that.
 * @param options.vcs whether `.git` and its likes are synchronized
 */
export async function compileRules(
  texts: readonly RuleText[],
  options: { vcs: boolean },
): Promise<Exclusions> {
  const { default: ignore } = await import('ignore');
  const scopes = texts.map(({ directory, rules }): { prefix: string; matcher: Ignore } => ({
    prefix: directory === '' ? '' : `${directory}/`,
    matcher: ignore({ allowRelativePaths: true }).add(rules as string | string[]),
  }));
  return {
    excludes(path, isDirectory) {
      const name = nameOf(path);
      if (name.startsWith(ownPrefix) || path === ignoreFile || (!options.vcs && isVersionControl(name)))
        return true;
      let ignored = false;
      for (const { prefix, matcher } of scopes) {
        if (!path.startsWith(prefix)) continue;
        const verdict = matcher.test(`${path.slice(prefix.length)}${isDirectory ? '/' : ''}`);
        if (verdict.ignored || verdict.unignored) ignored = verdict.ignored;
      }
      return ignored;
    },
    names: [...(options.vcs ? [] : versionControlNames), ...plainNames(texts)],
  };
}

/** Names that a rule of the root leaves out everywhere; none when a rule takes something back. */
function plainNames(texts: readonly RuleText[]): string[] {
  const lines = texts.flatMap(({ directory, rules }) =>
    (typeof rules === 'string' ? [rules] : rules)
      .flatMap((text) => text.split('\n'))
      .map((line) => ({ line: line.trim(), directory })),
  );
  if (lines.some(({ line }) => line.startsWith('!'))) return [];
  return lines.flatMap(({ line, directory }) => {
    const name = line.replace(/\/$/, '');
    return directory === '' && /^[\w.@+-]+$/.test(name) ? [name] : [];
  });
}
