/** The features of a daemon's version. */
export interface DaemonFeatures {
  /** Old enough to be out of support: below 0.1.0. */
  readonly outdated: boolean;
  /** Watching a whole tree. Since 0.1.4. */
  readonly recursiveWatch: boolean;
  /** Access tokens. Since 0.2.0. */
  readonly securedAccess: boolean;
  /** `stdin: false` on Start. Since 0.3.0. */
  readonly stdinFlag: boolean;
  /** A default user set by the platform, so that none need be named. Since 0.4.0. */
  readonly defaultUser: boolean;
  /** CloseStdin. Since 0.5.2. */
  readonly closeStdin: boolean;
  /** Uploads as `application/octet-stream`. Since 0.5.7. */
  readonly octetStreamUpload: boolean;
  /** `X-Metadata-*` on uploads. Since 0.6.2. */
  readonly fileMetadata: boolean;
  /** `includeEntry` on watches. Since 0.6.3. */
  readonly watchEntries: boolean;
  /** `allowNetworkMounts` on watches. Since 0.6.4. */
  readonly networkMounts: boolean;
}

/**
 * Reads a daemon's `envdVersion`. A pre-release counts as older than its release. A text that is no version, or none
 * at all, counts as the newest: a daemon built by hand may call itself anything, and refuses what it does not know.
 */
export function parseDaemonFeatures(version: string | undefined): DaemonFeatures {
  const since = (major: number, minor: number, patch: number) => isAtLeast(version, [major, minor, patch]);
  return {
    outdated: !since(0, 1, 0),
    recursiveWatch: since(0, 1, 4),
    securedAccess: since(0, 2, 0),
    stdinFlag: since(0, 3, 0),
    defaultUser: since(0, 4, 0),
    closeStdin: since(0, 5, 2),
    octetStreamUpload: since(0, 5, 7),
    fileMetadata: since(0, 6, 2),
    watchEntries: since(0, 6, 3),
    networkMounts: since(0, 6, 4),
  };
}

function isAtLeast(version: string | undefined, minimum: readonly [number, number, number]): boolean {
  const match = /^v?(\d+)\.(\d+)\.(\d+)(-)?/.exec(version ?? '');
  if (!match) return true;
  for (const [index, wanted] of minimum.entries()) {
    const part = Number(match[index + 1]);
    if (part !== wanted) return part > wanted;
  }
  return match[4] === undefined;
}
