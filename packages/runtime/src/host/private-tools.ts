import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DriverError } from '../contract/errors.js';
import { assetPath } from '../shared/assets.js';
import { runProgram } from '../shared/run-program.js';
import { criuDirectory, runscDirectory, versionOfCriu, versionOfRunsc } from './programs.js';

export interface InstallCriuOptions {
  /** Absolute path; made when missing. Default `SVC_CRIU_DIR`, else `/var/lib/svc/criu`. */
  directory?: string;
  log?: (message: string) => void;
}

export interface InstalledCriu {
  directory: string;
  version: string;
  /** SHA-256 of the program, also in `SHA256SUMS` beside it. */
  checksum: string;
}

/**
 * Gets a private CRIU (>= 4.2) through the host's own Debian mirror. Touches no host package; does nothing when a
 * suitable one is there already.
 * @throws {DriverError} `unsupported` when the host cannot get it, with the reason.
 */
export async function installPrivateCriu(options: InstallCriuOptions = {}): Promise<InstalledCriu> {
  const directory = criuDirectory({ criuDirectory: options.directory });
  const result = await runProgram('sh', [assetPath('install-criu.sh'), directory], {
    timeoutMs: 300_000,
    env: passedOn('SVC_CRIU_SUITE', 'SVC_CRIU_PINNED'),
  });
  const version = await versionOfCriu(directory);
  if (result.exitCode !== 0 || version === undefined) {
    throw new DriverError('unsupported', 'CRIU could not be installed.', { detail: result.stderr.trim() });
  }
  options.log?.(result.stdout.trim());
  const program = await readFile(join(directory, 'criu.bin'));
  return { directory, version, checksum: createHash('sha256').update(program).digest('hex') };
}

/**
 * Gets a private copy of gVisor's runtime through the host's own Debian mirror: one build, of the pinned checksum, that has
 * passed ten forks on this host. Touches no host package; does nothing when it is there already.
 * @throws {DriverError} `unsupported` when the host cannot get it, with the reason.
 */
export async function installPrivateRunsc(options: {
  directory?: string;
  log?: (message: string) => void;
}): Promise<void> {
  const directory = runscDirectory({ runscDirectory: options.directory });
  const result = await runProgram('sh', [assetPath('install-runsc.sh'), directory], {
    timeoutMs: 300_000,
    env: passedOn('SVC_RUNSC_SUITE'),
  });
  if (result.exitCode !== 0 || (await versionOfRunsc(directory)) === undefined)
    throw new DriverError('unsupported', 'gVisor could not be installed.', { detail: result.stderr.trim() });
  options.log?.(result.stdout.trim());
}

/** The environment variables that reach an installer: the mirror, the proxies, and its own. */
function passedOn(...own: string[]): Record<string, string> {
  const names = ['SVC_DEBIAN_MIRROR', 'http_proxy', 'https_proxy', 'no_proxy', ...own];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
