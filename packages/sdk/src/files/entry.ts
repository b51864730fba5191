/** A file or directory of a sandbox. */
export interface FileEntry {
  /** One name, without `/`, and neither `.` nor `..`; of the root, `/`. A sandbox that answers another is an error. */
  readonly name: string;
  /** Absolute path. */
  readonly path: string;
  /** Of a link: that of its target; `unknown` for a link to nothing and for devices. */
  readonly type: 'file' | 'directory' | 'unknown';
  readonly sizeBytes: number;
  /** The nine permission bits, as in 0o644. */
  readonly mode: number;
  /** As `ls -l` shows it: `-rw-r--r--`; a link starts with `L`. */
  readonly permissions: string;
  /** User name, or the number where it has none. */
  readonly owner: string;
  /** Group name, or the number where it has none. */
  readonly group: string;
  readonly modifiedAt: Date;
  /** Where a link leads, resolved; its own path when it leads nowhere. Undefined for what is no link. */
  readonly symlinkTarget: string | undefined;
  /** Pairs that were stored with the file when it was written; empty when none were. */
  readonly metadata: Record<string, string>;
}

/** A file that was written. */
export interface WrittenFile {
  readonly name: string;
  /** Absolute path. */
  readonly path: string;
  readonly type: 'file';
  readonly metadata: Record<string, string>;
}

/** A change in a watched directory. */
export interface WatchEvent {
  readonly type: 'create' | 'write' | 'remove' | 'rename' | 'chmod';
  /** Relative to the watched directory. Of `rename`, the old name; the new one comes as `create`. */
  readonly name: string;
  /** With `includeEntry`, where it could be read at that moment. */
  readonly entry: FileEntry | undefined;
}
