import { runtime } from '#runtime';
import { InvalidRequestError } from '../errors/answer-errors.js';
import { compileIgnoreRules } from '../files/directory/ignore-rules.js';
import type { Excludes, LocalEntry, LocalFiles } from '../runtime/contract/local-files.js';
import type { CopySource, TemplateDefinition } from './definition.js';
import { compileGlob, isGlob } from './glob.js';

/** The files of one COPY step, ready to be sent. */
export interface CopyFiles {
  /** 64 hexadecimal digits. */
  readonly hash: string;
  readonly source: string;
  readonly root: string;
  readonly entries: readonly LocalEntry[];
}

/**
 * Finds and hashes the files of a COPY. Archives hold them under their paths in the context.
 * @throws InvalidRequestError when nothing fits
 */
export async function collectCopy(definition: TemplateDefinition, copy: CopySource): Promise<CopyFiles> {
  const files = await runtime.localFiles();
  const root = files.resolve(definition.contextDir ?? '.');
  const source = normalize(copy.source);
  const excludes = await readExcludes(files, root, definition);
  const entries = await find(files, root, source, excludes);
  if (entries.length === 0) {
    throw new InvalidRequestError(
      `copy: nothing in ${root} fits "${copy.source}". Sources are relative to the context: set contextDir, and look at the ignore rules.`,
    );
  }
  const hash = await files.sha256(hashInput(copy, entries, (path) => files.read(files.resolve(path, root))));
  return { hash, source: copy.source, root, entries };
}

/** A source without `.` and empty parts. `..` would leave the context. */
function normalize(source: string): string {
  const parts = source.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) {
    throw new InvalidRequestError(
      `copy: "${source}" leads out of the context. Set contextDir to a directory above it.`,
    );
  }
  return parts.join('/');
}

async function find(
  files: LocalFiles,
  root: string,
  source: string,
  excludes: Excludes,
): Promise<LocalEntry[]> {
  const found: LocalEntry[] = [];
  if (!isGlob(source) && source !== '') {
    const one = await files.find(files.resolve(source, root));
    if (!one || excludes(source, one.type)) return [];
    const entry = { ...one, path: source };
    // A link that is named itself stands for what it leads to.
    const isDirectory =
      one.type === 'directory' ||
      (one.type === 'symlink' && (await files.isDirectory(files.resolve(source, root))));
    if (!isDirectory) return [entry];
    found.push({ ...entry, type: 'directory', target: undefined });
    const below = (path: string, type: LocalEntry['type']) => excludes(`${source}/${path}`, type);
    for await (const each of files.walk(files.resolve(source, root), below))
      found.push({ ...each, path: `${source}/${each.path}` });
    return found;
  }
  const fits = source === '' ? () => true : compileGlob(source);
  // Everything below a directory that fits comes along.
  const within = new Set<string>();
  for await (const entry of files.walk(root, excludes)) {
    const parent = entry.path.slice(0, Math.max(0, entry.path.lastIndexOf('/')));
    if (!fits(entry.path) && !within.has(parent)) continue;
    found.push(entry);
    if (entry.type === 'directory') within.add(entry.path);
  }
  return found;
}

async function readExcludes(
  files: LocalFiles,
  root: string,
  definition: TemplateDefinition,
): Promise<Excludes> {
  const own = await compileIgnoreRules(definition.ignore);
  const path = files.resolve('.dockerignore', root);
  if (!definition.dockerIgnore || !(await files.find(path))) return own;
  const docker = await compileIgnoreRules(fromDockerIgnore(runtime.readLocalText(path)));
  return (entry, type) => own(entry, type) || docker(entry, type);
}

/** In `.dockerignore` every pattern starts at the context; in `.gitignore` one without a slash fits at any depth. */
export function fromDockerIgnore(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.replace(/^(!?)\/*(?:\.\/)?(.*?)\/*$/, '$1/$2'));
}

/**
 * The input of the name of a set of files: `COPY <source> <target>`, then for each entry, sorted by path: its
 * path, its mode and size in decimal, and its content (of a link, its target).
 */
async function* hashInput(
  copy: CopySource,
  entries: readonly LocalEntry[],
  read: (path: string) => AsyncIterable<Uint8Array>,
): AsyncGenerator<string | Uint8Array, void, undefined> {
  yield `COPY ${copy.source} ${copy.target}`;
  for (const entry of [...entries].sort((left, right) => compare(left.path, right.path))) {
    yield `${entry.path}${entry.mode}${entry.sizeBytes}`;
    if (entry.type === 'symlink') yield entry.target ?? '';
    if (entry.type === 'file') yield* read(entry.path);
  }
}

/** By code units, which is the same on every machine. */
function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
