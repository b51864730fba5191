/** A volume of the team. */
export interface VolumeInfo {
  readonly volumeId: string;
  /** Letters, digits, `_` and `-`; unique within the team. */
  readonly name: string;
}

/** A file, directory or link of a volume. */
export interface VolumeEntry {
  /** Last part of the path; of the root, `/`. */
  readonly name: string;
  readonly type: 'file' | 'directory' | 'symlink' | 'unknown';
  /** Path inside the volume, with a leading slash. */
  readonly path: string;
  readonly sizeBytes: number;
  /** Permission bits, as in 0o644, set-id and sticky included. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly accessedAt: Date;
  readonly modifiedAt: Date;
  readonly changedAt: Date;
  /** The target of a link; undefined for others. */
  readonly target: string | undefined;
}

/** Owner and mode. */
export interface VolumeOwnership {
  /** Numeric user. Default for new entries: the service's, 0. */
  uid?: number | undefined;
  /** Numeric group. Default for new entries: the service's, 0. */
  gid?: number | undefined;
  /** Permission bits, as in 0o644. Default for new entries: the service's, 0o755 for directories and 0o644 for files. */
  mode?: number | undefined;
}
