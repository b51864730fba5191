/** A file, directory or link of this machine. */
export interface LocalEntry {
  /** Relative to the root, with `/` between the parts. */
  readonly path: string;
  readonly type: 'file' | 'directory' | 'symlink';
  /** Of files; 0 for others. */
  readonly sizeBytes: number;
  /** The file's whole mode as the system has it. */
  readonly mode: number;
  readonly modifiedAt: Date;
  /** Of a link, what it says. */
  readonly target: string | undefined;
}

/** Says what to leave out, by relative path; a directory that is left out is not entered. */
export type Excludes = (path: string, type: LocalEntry['type']) => boolean;

/** Reports of an extraction. */
export interface ExtractOptions {
  excludes: Excludes;
  /** True when files of version control are written too. */
  vcs: boolean;
  /** Gets each entry that is left out for another reason than `excludes`, and why. */
  onSkipped?: ((path: string, reason: string) => void) | undefined;
  /** Returns true when names that differ in case alone are one in a directory. Default: it is tried. */
  foldsCase?: ((directory: string) => Promise<boolean>) | undefined;
  /** Gets each entry once it is there, and the bytes of files as they are written. */
  onEntry?: ((path: string, writtenBytes: number) => void) | undefined;
}

/** Files of the machine that the program runs on. Only where there are any. */
export interface LocalFiles {
  /** An absolute path; relative ones start at the working directory, or at `base`. */
  resolve(path: string, base?: string): string;
  /** The facts of one path, links not followed; undefined when there is nothing. */
  find(path: string): Promise<LocalEntry | undefined>;
  /** Returns true when there is a directory, links followed. */
  isDirectory(path: string): Promise<boolean>;
  /**
   * Everything below a directory, sorted by path, each directory before what is in it. Sockets and devices are left out.
   * @throws InvalidRequestError for a name that is not UTF-8, unless it is excluded
   */
  walk(root: string, excludes: Excludes): AsyncIterable<LocalEntry>;
  /** The bytes of a file. */
  read(path: string): AsyncIterable<Uint8Array>;
  /** SHA-256 of everything, as 64 hexadecimal digits. */
  sha256(source: AsyncIterable<Uint8Array | string>): Promise<string>;
  /** A tar archive of entries of a root; `onBytes` gets the amounts that were read of each file. */
  pack(
    root: string,
    entries: Iterable<LocalEntry>,
    onBytes?: (path: string, bytes: number) => void,
  ): AsyncIterable<Uint8Array>;
  /** Compresses with gzip into something of known size that can be sent again. Dispose it. */
  gzip(source: AsyncIterable<Uint8Array>): Promise<{ blob: Blob; dispose(): Promise<void> }>;
  /** Writes a tar archive below a directory, which is made. Nothing is written outside it, for any archive. */
  extract(root: string, archive: AsyncIterable<Uint8Array>, options: ExtractOptions): Promise<void>;
}
