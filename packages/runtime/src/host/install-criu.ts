import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DriverError } from '../contract/errors.js';
import { assetPath } from '../shared/assets.js';
import { runProgram } from '../shared/run-program.js';
import { criuDirectory, versionOfCriu } from './programs.js';

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
    env: Object.fromEntries(
      [
        'SVC_DEBIAN_MIRROR',
        'SVC_CRIU_SUITE',
        'SVC_CRIU_PINNED',
        'http_proxy',
        'https_proxy',
        'no_proxy',
      ].flatMap((name) => {
        const value = process.env[name];
        return value === undefined ? [] : [[name, value]];
      }),
    ),
  });
  const version = await versionOfCriu(directory);
  if (result.exitCode !== 0 || version === undefined) {
    throw new DriverError('unsupported', 'CRIU could not be installed.', { detail: result.stderr.trim() });
  }
  options.log?.(result.stdout.trim());
  const program = await readFile(join(directory, 'criu.bin'));
  return { directory, version, checksum: createHash('sha256').update(program).digest('hex') };
}
