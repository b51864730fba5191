import { randomUUID } from 'node:crypto';
import * as path from 'node:path/posix';
import {
  type CopyOptions,
  DirectoryNotEmptyError,
  DirectoryNotFoundError,
  type FileEntry,
  FileExistsError,
  FileNotFoundError as FileMissingError,
  type FileStat,
  IsDirectoryError,
  type ListOptions,
  MastraFilesystem,
  NotDirectoryError,
  type ProviderStatus,
  type RemoveOptions,
  StaleFileError,
  type WriteOptions,
} from '@mastra/core/workspace';
import type { Sandbox, FileEntry as SandboxEntry } from '@svc/sdk';
import { defaultSandbox } from '../default-sandbox.js';
import type { ToolSandboxes } from '../tool-sandboxes.js';
import { readBytes } from '../tools/read-text.js';
import { unlessNotFound } from '../unless-not-found.js';

/** Largest file that is read, bytes: what is in a sandbox may be anybody's. */
const MOST_READ = 64 * 1024 * 1024;
const MOST_LEVELS = 32;

/** The files of a sandbox as the file system of a workspace of Mastra. Relative paths start at the home directory. */
export class SvcFilesystem extends MastraFilesystem {
  readonly id: string;
  readonly name = 'SvcFilesystem';
  readonly provider = 'svc';
  status: ProviderStatus = 'pending';
  readonly #source: Sandbox | ToolSandboxes;

  /** @param source as that of the `SvcSandbox` of the workspace */
  constructor(source: Sandbox | ToolSandboxes) {
    super({ name: 'SvcFilesystem' });
    this.#source = source;
    this.id = 'several' in source ? `svc-files-${randomUUID()}` : `svc-files-${source.id}`;
  }

  getInstructions(): string {
    return 'Files are those of the sandbox in which commands run. Relative paths start at its home directory.';
  }

  async readFile(file: string, { encoding }: { encoding?: BufferEncoding } = {}): Promise<string | Buffer> {
    const { type } = await this.#require(file);
    if (type === 'directory') throw new IsDirectoryError(file);
    const bytes = await readBytes(await this.#sandbox(), file, { mostBytes: MOST_READ });
    return encoding === undefined ? bytes : bytes.toString(encoding);
  }

  async writeFile(
    file: string,
    content: string | Buffer | Uint8Array,
    { overwrite = true, expectedMtime }: WriteOptions = {},
  ): Promise<void> {
    const there = await this.#find(file);
    if (there?.type === 'directory') throw new IsDirectoryError(file);
    if (there && !overwrite) throw new FileExistsError(file);
    if (there && expectedMtime && there.modifiedAt.getTime() !== expectedMtime.getTime())
      throw new StaleFileError(file, expectedMtime, there.modifiedAt);
    await (await this.#sandbox()).files.write(file, content);
  }

  async appendFile(file: string, content: string | Buffer | Uint8Array): Promise<void> {
    await this.#run('mkdir -p -- "$(dirname -- "$A")" && cat >> "$A"', { A: file }, content);
  }

  async deleteFile(file: string, { force = false, recursive = false }: RemoveOptions = {}): Promise<void> {
    const there = await this.#find(file);
    if (there === null && force) return;
    if (there === null) throw new FileMissingError(file);
    if (there.type === 'directory' && !recursive) throw new IsDirectoryError(file);
    await (await this.#sandbox()).files.remove(file);
  }

  async copyFile(
    from: string,
    to: string,
    { overwrite = true, recursive = false }: CopyOptions = {},
  ): Promise<void> {
    const { type } = await this.#require(from);
    if (type === 'directory' && !recursive) throw new IsDirectoryError(from);
    if (!overwrite && (await this.exists(to))) throw new FileExistsError(to);
    await this.#run('mkdir -p -- "$(dirname -- "$B")" && cp -RT -- "$A" "$B"', { A: from, B: to });
  }

  async moveFile(from: string, to: string, { overwrite = true }: CopyOptions = {}): Promise<void> {
    await this.#require(from);
    if (!overwrite && (await this.exists(to))) throw new FileExistsError(to);
    await (await this.#sandbox()).files.move(from, to);
  }

  async mkdir(directory: string, { recursive = true }: { recursive?: boolean } = {}): Promise<void> {
    const above = path.dirname(directory);
    if (!recursive && !(await this.exists(above))) throw new DirectoryNotFoundError(above);
    const there = await this.#find(directory);
    if (there?.type === 'file') throw new FileExistsError(directory);
    if (there === null) await (await this.#sandbox()).files.makeDir(directory);
  }

  async rmdir(directory: string, { force = false, recursive = false }: RemoveOptions = {}): Promise<void> {
    const there = await this.#find(directory);
    if (there === null && force) return;
    if (there === null) throw new DirectoryNotFoundError(directory);
    if (there.type !== 'directory') throw new NotDirectoryError(directory);
    const { files } = await this.#sandbox();
    if (!recursive && (await files.list(directory)).length > 0) throw new DirectoryNotEmptyError(directory);
    await files.remove(directory);
  }

  async readdir(directory: string, options: ListOptions = {}): Promise<FileEntry[]> {
    const there = await this.#find(directory);
    if (there === null) throw new DirectoryNotFoundError(directory);
    if (there.type !== 'directory') throw new NotDirectoryError(directory);
    const { recursive = false, maxDepth = MOST_LEVELS, extension } = options;
    const depth = recursive ? Math.max(1, Math.min(maxDepth, MOST_LEVELS)) : 1;
    const entries = await (await this.#sandbox()).files.list(directory, { depth });
    const wanted = extension === undefined ? undefined : [extension].flat();
    return entries
      .filter(
        ({ name, type }) =>
          wanted === undefined || type === 'directory' || wanted.includes(path.extname(name)),
      )
      .map((entry) => ({
        name: recursive ? path.relative(there.path, entry.path) : entry.name,
        type: kindOf(entry),
        size: entry.sizeBytes,
        ...(entry.symlinkTarget === undefined ? {} : { isSymlink: true, symlinkTarget: entry.symlinkTarget }),
      }));
  }

  async exists(file: string): Promise<boolean> {
    return (await this.#sandbox()).files.exists(file);
  }

  async stat(file: string): Promise<FileStat> {
    const entry = await this.#require(file);
    const { name, path, sizeBytes: size, modifiedAt } = entry;
    return { name, path, type: kindOf(entry), size, createdAt: modifiedAt, modifiedAt };
  }

  #sandbox(): Promise<Sandbox> {
    return defaultSandbox(this.#source);
  }

  async #find(file: string): Promise<SandboxEntry | null> {
    return unlessNotFound((await this.#sandbox()).files.stat(file));
  }

  async #require(file: string): Promise<SandboxEntry> {
    const entry = await this.#find(file);
    if (entry === null) throw new FileMissingError(file);
    return entry;
  }

  /** Runs a line on paths that it finds in variables. */
  async #run(line: string, envs: Record<string, string>, stdin?: string | Uint8Array): Promise<void> {
    const { commands } = await this.#sandbox();
    await commands.run(line, { envs, ...(stdin === undefined ? {} : { stdin }) });
  }
}

const kindOf = ({ type }: SandboxEntry) => (type === 'directory' ? 'directory' : 'file');
