/** The most that an archive may contain. A hostile one is refused at the first header that exceeds it. */
export interface ArchiveLimits {
  /** Entries of every kind. Default 1,000,000. */
  maxEntries: number;
  /** Bytes of one name, and of the target of one link. Default 4,096, as much as Linux takes. */
  maxNameBytes: number;
  /** Bytes of all names and link targets together: they are held in memory. Default 128 MiB. */
  maxNamesBytes: number;
  /** Names in one path. Default 256. */
  maxDepth: number;
  /** Bytes of the extension headers of one entry (long names, times, extended attributes). Default 1 MiB. */
  maxHeaderBytes: number;
  /** Bytes of the unpacked archive. Default 32 GiB. */
  maxBytes: number;
  /** Unpacked bytes for each compressed byte, looked at from 64 MiB on. Default 200. */
  maxExpansion: number;
}

export const DEFAULT_ARCHIVE_LIMITS: Readonly<ArchiveLimits> = {
  maxEntries: 1_000_000,
  maxNameBytes: 4_096,
  maxNamesBytes: 128 * 2 ** 20,
  maxDepth: 256,
  maxHeaderBytes: 2 ** 20,
  maxBytes: 32 * 2 ** 30,
  maxExpansion: 200,
};

/** Compression that looks too good is normal in what is small. */
export const EXPANSION_FLOOR_BYTES = 64 * 2 ** 20;

const BRAND = Symbol.for('@svc/runtime/ArchiveError');

/** Why an archive is refused. `message` is a clause ("it has more than ... entries") fit for an end user. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
  /** The limit that it goes beyond; undefined: it is malformed. */
  readonly limit: keyof ArchiveLimits | undefined;
  readonly [BRAND] = true;

  constructor(message: string, limit?: keyof ArchiveLimits) {
    super(limit === undefined ? message : `${message} (${limit})`);
    this.limit = limit;
  }

  /** Recognises an archive's error, across copies of this package. */
  static is(error: unknown): error is ArchiveError {
    return typeof error === 'object' && error !== null && (error as { [BRAND]?: unknown })[BRAND] === true;
  }
}
