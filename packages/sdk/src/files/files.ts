import type { DaemonConnection } from '../daemon/daemon-connection.js';
import { ConflictError, InvalidRequestError } from '../errors/answer-errors.js';
import { unlessMissing } from '../errors/unless-missing.js';
import type { FileContent } from './content.js';
import type {
  DownloadOptions,
  DownloadResult,
  TransferOptions,
  TransferResult,
} from './directory/options.js';
import type { FileEntry, WrittenFile } from './entry.js';
import type { FileOptions } from './options.js';
import { type ReadFormat, type ReadOptions, type ReadResults, readFile } from './read.js';
import { type SignedUrlOptions, signedUrl } from './signed-url.js';
import type { DirectoryWatch, WatchOptions } from './watch.js';
import { fromEntry } from './wire.js';
import { type FileToWrite, type WriteOptions, writeFile, writeFiles } from './write.js';

const resource = 'file' as const;

/**
 * Files of a sandbox. Absolute paths are used as they are; relative ones and `~` start at the user's home; an empty path
 * is the default working directory. Links are followed; in directories that everyone may write to, such as `/tmp`, only those
 * of the call's user, of the sandbox's default user and of the directory's owner.
 */
export class Files {
  readonly #connection: DaemonConnection;

  /** @internal */
  constructor(connection: DaemonConnection) {
    this.#connection = connection;
  }

  /**
   * Reads a file: as text (UTF-8, the default), `bytes`, `blob`, or as a `stream` that holds no more in memory than its
   * reader is behind. A stream's time limit applies to each wait for more bytes.
   * @throws FileNotFoundError, InvalidRequestError for a directory, SandboxGoneError
   * @example
   * const text = await sandbox.files.read('notes.txt');
   * @wire readFile
   */
  read<Format extends ReadFormat = 'text'>(
    path: string,
    options: ReadOptions & { format?: Format | undefined } = {},
  ): Promise<ReadResults[Format]> {
    return readFile(this.#connection, path, options) as Promise<ReadResults[Format]>;
  }

  /**
   * Writes a file and the directories above it; what was there is replaced. A stream is sent as fast as the sandbox
   * takes it, without time limit and without a second try; content above 8 MiB is not sent a second time either.
   * @throws StorageFullError, InvalidRequestError where a directory is in the way or metadata are not allowed
   * @example
   * await sandbox.files.write('src/main.py', 'print("hello")');
   * @wire writeFiles
   */
  write(path: string, data: FileContent, options: WriteOptions = {}): Promise<WrittenFile> {
    return writeFile(this.#connection, path, data, options);
  }

  /**
   * Writes files, many small ones in one request. An empty list sends nothing. Not all or nothing: a failure leaves
   * those that were written before it.
   * @returns one entry a file, in the order given
   * @throws StorageFullError, InvalidRequestError
   * @example
   * await sandbox.files.writeMany([
   *   { path: 'a.txt', data: 'a' },
   *   { path: 'b.bin', data: new Uint8Array([1, 2]) },
   * ]);
   * @wire writeFiles
   */
  writeMany(files: readonly FileToWrite[], options: FileOptions = {}): Promise<WrittenFile[]> {
    return writeFiles(this.#connection, files, options);
  }

  /**
   * Lists a directory in lexical order, depth first. Links to nothing, sockets and devices are left out.
   * @param options `depth`: levels below the directory, from 1. Default 1.
   * @throws FileNotFoundError, InvalidRequestError when it is no directory
   * @example
   * const entries = await sandbox.files.list('/tmp', { depth: 2 });
   * @wire filesystem.Filesystem/ListDir
   */
  async list(path: string, options: FileOptions & { depth?: number | undefined } = {}): Promise<FileEntry[]> {
    const { depth = 1, user } = options;
    if (!Number.isInteger(depth) || depth < 1) {
      throw new InvalidRequestError(`files.list: depth must be a whole number of at least 1, got ${depth}.`);
    }
    const context = { operation: 'files.list', resource, user, idempotent: true, options };
    const { entries } = await this.#connection.call(context, ({ filesystem }, call) =>
      filesystem.listDir({ path, depth }, call),
    );
    return entries.map(fromEntry).filter(({ type }) => type !== 'unknown');
  }

  /**
   * Describes an entry. A link is described as its target, with `symlinkTarget`.
   * @throws FileNotFoundError
   * @example
   * const { sizeBytes } = await sandbox.files.stat('notes.txt');
   * @wire filesystem.Filesystem/Stat
   */
  async stat(path: string, options: FileOptions = {}): Promise<FileEntry> {
    const context = { operation: 'files.stat', resource, user: options.user, idempotent: true, options };
    const { entry } = await this.#connection.call(context, ({ filesystem }, call) =>
      filesystem.stat({ path }, call),
    );
    return fromEntry(entry as NonNullable<typeof entry>);
  }

  /**
   * Joins files, in order, into one and deletes them: for uploads in pieces. The destination appears whole or not at all.
   * @throws FileNotFoundError when a source is missing, InvalidRequestError when it is no regular file or the destination
   * itself, StorageFullError
   * @example
   * await sandbox.files.compose(['part-1', 'part-2'], 'whole.bin');
   * @wire composeFiles
   */
  async compose(
    sources: readonly string[],
    destination: string,
    options: FileOptions = {},
  ): Promise<WrittenFile> {
    const { composeFiles } = await import('./compose.js');
    return composeFiles(this.#connection, sources, destination, options);
  }

  /**
   * Returns true when there is anything at a path, a link to nothing included.
   * @example
   * if (await sandbox.files.exists('.env')) console.log('it is there');
   * @wire filesystem.Filesystem/Stat
   */
  async exists(path: string, options: FileOptions = {}): Promise<boolean> {
    return (await unlessMissing(this.stat(path, options))) !== undefined;
  }

  /**
   * Makes a directory and those above it. False when it is there already.
   * @throws InvalidRequestError when something else is there
   * @example
   * await sandbox.files.makeDir('data/raw');
   * @wire filesystem.Filesystem/MakeDir
   */
  async makeDir(path: string, options: FileOptions = {}): Promise<boolean> {
    const context = { operation: 'files.makeDir', resource, user: options.user, idempotent: true, options };
    try {
      await this.#connection.call(context, ({ filesystem }, call) => filesystem.makeDir({ path }, call));
      return true;
    } catch (error) {
      if (ConflictError.is(error)) return false;
      throw error;
    }
  }

  /**
   * Moves or renames; an existing file at the destination is replaced, and missing directories above it are made.
   * @returns the entry at its new place
   * @throws FileNotFoundError
   * @example
   * await sandbox.files.move('draft.txt', 'final.txt');
   * @wire filesystem.Filesystem/Move
   */
  async move(source: string, destination: string, options: FileOptions = {}): Promise<FileEntry> {
    const context = { operation: 'files.move', resource, user: options.user, options };
    const { entry } = await this.#connection.call(context, ({ filesystem }, call) =>
      filesystem.move({ source, destination }, call),
    );
    return fromEntry(entry as NonNullable<typeof entry>);
  }

  /**
   * Removes a file, a link itself, or a directory with all that is in it. A path where nothing is succeeds.
   * @example
   * await sandbox.files.remove('data');
   * @wire filesystem.Filesystem/Remove
   */
  async remove(path: string, options: FileOptions = {}): Promise<void> {
    const context = { operation: 'files.remove', resource, user: options.user, idempotent: true, options };
    await this.#connection.call(context, ({ filesystem }, call) => filesystem.remove({ path }, call));
  }

  /**
   * Watches a directory from the moment the promise resolves: iterate over the watch, or give `onEvent`. No time limit;
   * leave the loop or call `close` to end it. Its end is an error unless it was closed, for changes may have been missed.
   * @throws FileNotFoundError, InvalidRequestError when it is no directory
   * @example
   * const watch = await sandbox.files.watch('src', { recursive: true });
   * for await (const event of watch) console.log(event.type, event.name);
   * @wire filesystem.Filesystem/WatchDir
   */
  async watch(path: string, options: WatchOptions = {}): Promise<DirectoryWatch> {
    const { watchDirectory } = await import('./watch.js');
    return watchDirectory(this.#connection, path, options);
  }

  /**
   * A URL that reads a file without any header, to hand to others. Nothing is sent. It leads to the sandbox's own host
   * name, which must be resolvable where it is used.
   * @example
   * const url = await sandbox.files.downloadUrl('report.pdf');
   * @wire readFile
   */
  downloadUrl(path: string, options: SignedUrlOptions = {}): Promise<string> {
    return signedUrl(this.#connection, 'read', path, options);
  }

  /**
   * A URL that files are uploaded to without any header, by POST: multipart with parts named `file`, or
   * `application/octet-stream` when a path was given. Nothing is sent.
   * @param path of the file. Default: each part's own file name.
   * @example
   * const url = await sandbox.files.uploadUrl('incoming/data.csv');
   * @wire writeFiles
   */
  uploadUrl(path?: string, options: SignedUrlOptions = {}): Promise<string> {
    return signedUrl(this.#connection, 'write', path, options);
  }

  /**
   * Copies the content of a directory of this machine into one of the sandbox, which is made, as one stream through
   * `tar`. Modes, times, empty directories and links are kept; files belong to the user. What is there and not in the
   * source stays. Node only.
   * @throws InvalidRequestError when there is no such directory here, or no tar there, or a name that is not UTF-8;
   * StorageFullError
   * @example
   * await sandbox.files.uploadDir('./project', 'project', { ignore: ['node_modules'] });
   * @wire process.Process/Start, process.Process/StreamInput, filesystem.Filesystem/MakeDir
   */
  async uploadDir(local: string, remote: string, options: TransferOptions = {}): Promise<TransferResult> {
    const { uploadDirectory } = await import('./directory/upload-dir.js');
    const { user, signal, requestTimeoutMs } = options;
    const call = { user, signal, requestTimeoutMs };
    return uploadDirectory(
      this.#connection,
      local,
      async () => {
        await this.makeDir(remote, call);
        return pathToEnter(await this.stat(remote, call));
      },
      options,
    );
  }

  /**
   * Copies the content of a directory of the sandbox into one of this machine, which is made, as one stream through
   * `tar`. Times, empty directories, links and modes are kept. What `ignore` leaves out is sent, but not written. The
   * sandbox is not trusted: nothing is written outside the local directory; new files and directories belong to the
   * caller, who alone may write them (modes lose set-user-id, set-group-id, sticky, and what the umask takes away).
   * Links that lead out of the directory, version control (see `vcs`), devices and fifos are left out and listed in
   * `skipped`. Node only.
   * @throws FileNotFoundError, InvalidRequestError when it is no directory, or there is no tar
   * @example
   * await sandbox.files.downloadDir('results', './results');
   * @wire process.Process/Start, filesystem.Filesystem/Stat
   */
  async downloadDir(remote: string, local: string, options: DownloadOptions = {}): Promise<DownloadResult> {
    const { user, signal, requestTimeoutMs } = options;
    const entry = await this.stat(remote, { user, signal, requestTimeoutMs });
    if (entry.type !== 'directory')
      throw new InvalidRequestError(`files.downloadDir: ${entry.path} is no directory.`);
    const { downloadDirectory } = await import('./directory/download-dir.js');
    return downloadDirectory(this.#connection, pathToEnter(entry), local, options);
  }
}

/** The path of a directory without a link at its end: root may not follow those that users make in `/tmp`. */
function pathToEnter({ path, symlinkTarget }: FileEntry): string {
  return symlinkTarget ?? path;
}
