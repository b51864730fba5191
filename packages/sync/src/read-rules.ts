import { readdir, readFile } from 'node:fs/promises';
import type { LocalRoot } from './local/local-root.js';
import type { SyncOptions } from './options.js';
import { compileRules, type Exclusions, ignoreFile, type RuleText } from './rules/ignore.js';

const longestRules = 1024 * 1024;

/** Reads the rules of a local root, once: what the sandbox writes later does not change what it gets. */
export async function readRules(
  root: LocalRoot | undefined,
  { ignore = [], gitignore = false, vcs = false }: Pick<SyncOptions, 'ignore' | 'gitignore' | 'vcs'>,
): Promise<Exclusions> {
  const given: RuleText = { directory: '', rules: ignore };
  const own = await textOf(root, '', ignoreFile);
  const texts: RuleText[] = [];
  // The walk itself is kept out of what is left out, a folder of packages above all.
  if (gitignore && root) await collect(root, '');
  return compileRules([...texts, ...own, given], { vcs });

  async function collect(at: LocalRoot, directory: string): Promise<void> {
    texts.push(...(await textOf(at, directory, '.gitignore')));
    const soFar = await compileRules([...texts, ...own, given], { vcs });
    const found = await at
      .within(directory, (name) => readdir(name('.'), { withFileTypes: true }))
      .catch(() => []);
    for (const entry of found) {
      const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
      if (entry.isDirectory() && !soFar.excludes(path, true)) await collect(at, path);
    }
  }
}

async function textOf(root: LocalRoot | undefined, directory: string, name: string): Promise<RuleText[]> {
  const text = await root
    ?.within(directory, (at) => readFile(at(name), 'utf8'))
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'EISDIR') return undefined;
      throw error;
    });
  return text === undefined ? [] : [{ directory, rules: text.slice(0, longestRules) }];
}
