import type { Readable } from 'node:stream';

/** Directories that outlive instances and are mounted into them by id. */
export interface Volumes {
  /**
   * Makes a volume where there is none, writable for everybody inside, and sets its limit where the driver has limits.
   * @param id `[a-z0-9-]{1,64}`
   * @throws {DriverError} `storage_full`, `invalid_spec`
   */
  make(id: string, options?: { limitMiB?: number }): Promise<void>;
  /** Ids of those that are there. */
  list(): Promise<string[]>;
  /**
   * Takes a volume away at once; what it takes is freed soon after. Programs that have it open keep what they hold, and
   * cannot hinder it. Repeating it is fine.
   */
  delete(id: string): Promise<void>;
  /** Bytes that a volume takes; 0 for one that is not there. Undefined where nobody counts. */
  usedBytes(id: string): Promise<number | undefined>;
  /** The files of a volume, which must be there. */
  content(id: string): VolumeContent;
}

/** The facts of one entry, a link not followed. */
export interface VolumeEntry {
  /** `/` for the root. */
  name: string;
  type: 'file' | 'directory' | 'symlink' | 'unknown';
  /** Absolute, in the volume. */
  path: string;
  /** Bytes. */
  size: number;
  /** Permission bits. */
  mode: number;
  uid: number;
  gid: number;
  /** Milliseconds since the epoch. */
  atimeMs: number;
  mtimeMs: number;
  ctimeMs: number;
  /** Of a link. */
  target?: string | undefined;
}

export interface VolumeOwnership {
  uid?: number | undefined;
  gid?: number | undefined;
  /** Permission bits. */
  mode?: number | undefined;
}

export interface VolumeCreateOptions extends VolumeOwnership {
  /** Directories on the way are made, and what is there is replaced. */
  force?: boolean | undefined;
}

/**
 * Files of one volume. Programs in sandboxes may change them meanwhile; links never lead out. Paths have the volume as `/`.
 * @throws {VolumeError} every method
 */
export interface VolumeContent {
  stat(path: string): Promise<VolumeEntry>;
  /** Entries below a directory in lexical order, each directory before what is in it. @param depth 0 to 10 */
  list(path: string, depth: number): Promise<VolumeEntry[]>;
  change(path: string, change: VolumeOwnership): Promise<VolumeEntry>;
  makeDirectory(path: string, options: VolumeCreateOptions): Promise<VolumeEntry>;
  /** Removes a file, or a directory with everything in it. */
  remove(path: string): Promise<void>;
  /** The content as it is now: exactly `sizeBytes` bytes, fewer when the file shrinks meanwhile. The caller reads or destroys it. */
  read(path: string): Promise<{ sizeBytes: number; content: Readable }>;
  /** Writes beside the file and renames, so that a broken upload changes nothing. */
  write(path: string, body: Readable, options: VolumeCreateOptions): Promise<VolumeEntry>;
}

export const VOLUME_ERROR_CODES = [
  'invalid_request',
  'path_not_found',
  'path_already_exists',
  'not_a_directory',
  'is_a_directory',
  'cannot_delete_root',
  'depth_out_of_range',
  'no_space',
  'not_supported',
] as const;
export type VolumeErrorCode = (typeof VOLUME_ERROR_CODES)[number];

const BRAND = Symbol.for('@svc/runtime/VolumeError');

/** Why an operation on a volume's files failed. `message` is fit for an end user. */
export class VolumeError extends Error {
  override readonly name = 'VolumeError';
  readonly code: VolumeErrorCode;
  readonly [BRAND] = true;

  constructor(code: VolumeErrorCode, message: string) {
    super(message);
    this.code = code;
  }

  /** Recognises a volume's error, across copies of this package. */
  static is(error: unknown): error is VolumeError {
    return typeof error === 'object' && error !== null && (error as { [BRAND]?: unknown })[BRAND] === true;
  }
}
