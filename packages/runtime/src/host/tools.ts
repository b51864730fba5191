import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DriverError } from '../contract/errors.js';
import type { LinuxDriverOptions } from '../linux-driver/state/options.js';
import { runProgram } from '../shared/run-program.js';
import { TOOL_PATH } from '../shared/script-environment.js';

export interface Tools {
  /** Path of the OCI runtime, which also restores memory. */
  runtime: string;
  runtimeVersion: string;
  /** Path of the OCI runtime that starts fresh instances: the same one, or a quicker one. */
  starter: string;
  /** Directory of a CRIU that suits, and its version. */
  criu: string | undefined;
  criuVersion: string | undefined;
  criuProblem: string | undefined;
}

const NEEDED: [tool: string, debianPackage: string][] = [
  ['unshare', 'util-linux'],
  ['nsenter', 'util-linux'],
  ['setpriv', 'util-linux'],
  ['mount', 'mount'],
  ['ip', 'iproute2'],
  ['nft', 'nftables'],
  ['tar', 'tar'],
  ['timeout', 'coreutils'],
];
const RUNTIME_PACKAGES: Record<string, string> = { runc: 'runc', crun: 'crun', runsc: 'runsc' };

/** Where the private CRIU stands unless the options say otherwise. */
export function criuDirectory(options: Pick<LinuxDriverOptions, 'criuDirectory'>): string {
  return options.criuDirectory ?? process.env.SVC_CRIU_DIR ?? '/var/lib/svc/criu';
}

/** Why the driver cannot work on this host at all, as sentences with the command that helps. Empty: it can. */
export function missingForLinux(options: Pick<LinuxDriverOptions, 'ociRuntime'>): string[] {
  if (process.platform !== 'linux') return ['The host is not Linux.'];
  const missing: string[] = [];
  if (process.getuid?.() !== 0) missing.push('The server does not run as root.');
  const name = options.ociRuntime ?? 'runc';
  if (findTool(name) === undefined) {
    const remedy = RUNTIME_PACKAGES[name] === undefined ? '' : ` (apt-get install ${RUNTIME_PACKAGES[name]})`;
    missing.push(`The OCI runtime ${name} is missing${remedy}.`);
  }
  for (const [tool, debianPackage] of NEEDED) {
    if (findTool(tool) === undefined) missing.push(`${tool} is missing (apt-get install ${debianPackage}).`);
  }
  const filesystems = existsSync('/proc/filesystems') ? readFileSync('/proc/filesystems', 'utf8') : '';
  if (!/\toverlay$/m.test(filesystems) && !existsSync('/sys/module/overlay')) {
    missing.push('The kernel has no overlayfs (modprobe overlay).');
  }
  return missing;
}

/** @throws {DriverError} `unsupported` naming everything that is missing. */
export async function probeTools(options: LinuxDriverOptions): Promise<Tools> {
  const missing = missingForLinux(options);
  if (missing.length > 0) {
    throw new DriverError('unsupported', `Isolated sandboxes are not possible here. ${missing.join(' ')}`);
  }
  const runtime = findTool(options.ociRuntime ?? 'runc')!;
  const version = await runProgram(runtime, ['--version'], { timeoutMs: 10_000 });
  const directory = criuDirectory(options);
  const criuVersion = await versionOfCriu(directory);
  let criuProblem: string | undefined;
  if (!/(^|\/)runc$/.test(runtime)) {
    criuProblem = `Memory is stored through runc only, not through ${runtime}.`;
  } else if (criuVersion === undefined) {
    criuProblem = `CRIU 4.2 or later is missing in ${directory} (scripts/prepare-host.sh --criu installs it).`;
  } else if (!atLeast(criuVersion, [4, 2])) {
    criuProblem = `CRIU ${criuVersion} in ${directory} is too old: 4.2 is needed.`;
  }
  return {
    runtime,
    runtimeVersion: version.stdout.split('\n')[0]?.trim() ?? '',
    starter: (options.ociRuntime === undefined ? findTool('crun') : undefined) ?? runtime,
    criu: criuProblem === undefined ? directory : undefined,
    criuVersion,
    criuProblem,
  };
}

export async function versionOfCriu(directory: string): Promise<string | undefined> {
  const program = join(directory, 'criu');
  if (!existsSync(program)) return undefined;
  const { stdout } = await runProgram(program, ['--version'], { timeoutMs: 10_000 });
  return /^Version:\s*(\S+)/m.exec(stdout)?.[1];
}

function atLeast(version: string, wanted: [major: number, minor: number]): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > wanted[0] || (major === wanted[0] && minor >= wanted[1]);
}

function findTool(name: string): string | undefined {
  const candidates = name.startsWith('/')
    ? [name]
    : TOOL_PATH.split(':').map((directory) => join(directory, name));
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
