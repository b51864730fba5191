/** One thing that the `linux` driver needs of the host, and whether it is there. */
export interface Finding {
  /** Stable name, e.g. `oci-runtime`. */
  id: string;
  ok: boolean;
  /** `driver`: without it there is no `linux` driver. Otherwise the capability that is lost. */
  neededFor:
    | 'driver'
    | 'baseTemplate'
    | 'images'
    | 'memorySnapshot'
    | 'diskLimit'
    | 'limits'
    | 'networkIsolation'
    | 'gvisor'
    | 'ownIds'
    | 'comfort';
  /** The fact that was found or is missing; one sentence. */
  message: string;
  /** The exact command that gets it, when there is one. */
  fix?: string;
  /** Debian packages that get it. */
  packages?: string[];
}

/** Returns true if the `linux` driver can run at all. */
export function linuxDriverCanRun(findings: readonly Finding[]): boolean {
  return findings.every(({ ok, neededFor }) => ok || neededFor !== 'driver');
}

/** The reasons why the `linux` driver cannot run, as sentences with the command that helps. */
export function describeMissing(findings: readonly Finding[]): string[] {
  return findings
    .filter(({ ok, neededFor }) => !ok && neededFor === 'driver')
    .map(({ message, fix }) => (fix === undefined ? message : `${message} Run: ${fix}`));
}
