import { DriverError } from '../contract/errors.js';
import { assetPath } from '../shared/assets.js';
import { runProgram } from '../shared/run-program.js';
import { runscDirectory, versionOfRunsc } from './programs.js';

const PASSED_ON = ['SVC_DEBIAN_MIRROR', 'SVC_RUNSC_SUITE', 'http_proxy', 'https_proxy', 'no_proxy'];

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
    env: Object.fromEntries(
      PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
    ),
  });
  if (result.exitCode !== 0 || (await versionOfRunsc(directory)) === undefined)
    throw new DriverError('unsupported', 'gVisor could not be installed.', { detail: result.stderr.trim() });
  options.log?.(result.stdout.trim());
}
