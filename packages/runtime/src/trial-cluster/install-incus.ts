import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DriverError } from '../contract/errors.js';
import { assetPath } from '../shared/assets.js';
import { runProgram } from '../shared/run-program.js';

const PASSED_ON = ['SVC_DEBIAN_MIRROR', 'SVC_INCUS_SUITE', 'http_proxy', 'https_proxy', 'no_proxy'];
const INSTALL_MS = 900_000;

/** Where the private Incus of trial clusters is. Default `SVC_INCUS_DIR`, else `/var/lib/svc/incus`. */
export function incusDirectory(): string {
  return process.env.SVC_INCUS_DIR ?? '/var/lib/svc/incus';
}

/** Root file system with Incus in it; undefined while there is none. */
export function incusRoot(): string | undefined {
  const root = join(incusDirectory(), 'root');
  return existsSync(join(root, 'usr/libexec/incus/incusd')) ? root : undefined;
}

/**
 * Puts Incus and what it needs into a root file system of its own, from the host's Debian mirror, in about a minute. Touches
 * no host package; does nothing when it is there already.
 * @throws {DriverError} `unsupported` when the host cannot get it, with the reason.
 */
export async function installIncus(options: { log?: (line: string) => void } = {}): Promise<string> {
  const result = await runProgram('sh', [assetPath('incus/install.sh'), incusDirectory()], {
    timeoutMs: INSTALL_MS,
    env: Object.fromEntries(
      PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
    ),
  });
  const root = incusRoot();
  if (result.exitCode !== 0 || root === undefined) {
    const reason = result.stderr
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^install-incus: /, '');
    throw new DriverError(
      'unsupported',
      `Incus could not be installed: ${reason || `it ended with ${result.exitCode}`}.`,
      {
        detail: result.stderr.trim(),
      },
    );
  }
  options.log?.(result.stdout.trim());
  return root;
}
