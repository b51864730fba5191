import { BuildError } from '../shared/build.js';
import { entryPath, parentsOf } from './entry-path.js';
import { compileGlob } from './glob.js';

export interface ListedEntry {
  /** Canonical, not empty. */
  path: string;
  directory: boolean;
}

/** The entries of an archive that a COPY takes, and their paths below its target. */
export interface CopyPlan {
  /** `file`: one file, which may get another name. `tree`: what goes into a directory. */
  kind: 'file' | 'tree';
  /** Name of the one file. */
  name: string;
  /** Returns the path of an entry relative to the target; undefined: it is not taken. */
  targetOf(path: string): string | undefined;
}

/**
 * Works out a COPY: a directory gives its contents, a file itself, `*`, `?`, `[...]` and `**` choose several.
 * @param source as in the step, relative to the directory that was packed
 * @throws {BuildError} when nothing fits
 */
export function planCopy(source: string, entries: readonly ListedEntry[]): CopyPlan {
  const wanted = entryPath(source.replace(/^\/+/, ''));
  if (wanted === undefined) throw new BuildError(`COPY: '${source}' leads out of the uploaded files`);
  if (wanted === '') return { kind: 'tree', name: '', targetOf: (path) => path || undefined };
  const roots = rootsOf(wanted, entries);
  if (roots.size === 0) throw new BuildError(`COPY: none of the uploaded files fits '${source}'`);
  const [first] = roots;
  const kind = roots.size === 1 && first![1] === 'file' ? 'file' : 'tree';
  return {
    kind,
    name: baseName(first![0]),
    targetOf: (path) => {
      const root = [...parentsOf(path), path].find((each) => roots.has(each));
      if (root === undefined) return undefined;
      if (roots.get(root) === 'file') return root === path ? baseName(root) : undefined;
      return path === root ? undefined : path.slice(root.length + 1);
    },
  };
}

/** The topmost paths that fit, and whether they are directories. */
function rootsOf(wanted: string, entries: readonly ListedEntry[]): Map<string, 'file' | 'directory'> {
  const fits = remembered(/[*?[]/.test(wanted) ? compileGlob(wanted) : (path) => path === wanted);
  const roots = new Map<string, 'file' | 'directory'>();
  for (const entry of entries) {
    const parent = parentsOf(entry.path).find(fits);
    if (parent !== undefined) roots.set(parent, 'directory');
    else if (fits(entry.path) && roots.get(entry.path) !== 'directory')
      roots.set(entry.path, entry.directory ? 'directory' : 'file');
  }
  return roots;
}

/** Directories are selected again with everything in them. */
function remembered(fits: (path: string) => boolean): (path: string) => boolean {
  const known = new Map<string, boolean>();
  return (path) => {
    let answer = known.get(path);
    if (answer === undefined) {
      answer = fits(path);
      known.set(path, answer);
    }
    return answer;
  };
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
