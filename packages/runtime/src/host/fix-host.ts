import type { DriverOptions } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import { runProgram } from '../shared/run-program.js';
import { buildBase } from './base-root.js';
import { checkHost } from './check-host.js';
import { EGRESS_USER, hasEgressUser } from './egress-user.js';
import type { Finding } from './finding.js';
import { type HostOptions, readHostFacts } from './host-facts.js';
import { judgeHost } from './judge-host.js';

export interface FixHostOptions extends HostOptions {
  /** False: only say what would be done. */
  install: boolean;
  log: NonNullable<DriverOptions['log']>;
}

/**
 * Gets the missing parts of the host, where that is possible: Debian packages by apt-get as root, and private copies of CRIU and, where it
 * is asked for, gVisor that touch no package of the host. What cannot be got stays among the findings with its command.
 * @returns the findings afterwards.
 */
export async function fixHost(options: FixHostOptions): Promise<Finding[]> {
  const { log } = options;
  const facts = await readHostFacts(options);
  const missing = judgeHost(facts).filter(({ ok }) => !ok);
  const packages = [...new Set(missing.flatMap((finding) => finding.packages ?? []))];
  const modules = missing.flatMap(({ fix }) => /^modprobe (\w+)$/.exec(fix ?? '')?.[1] ?? []);
  const wantsCriu = missing.some(({ id }) => id === 'criu');
  const wantsBase = missing.some(({ id }) => id === 'base');
  const wantsUser = !hasEgressUser();
  const wantsRunsc = missing.some(({ id }) => id === 'gvisor');
  const plan = [
    ...(wantsUser ? [`make the system user ${EGRESS_USER}`] : []),
    ...(packages.length > 0 ? [`apt-get install ${packages.join(' ')}`] : []),
    ...modules.map((name) => `modprobe ${name}`),
    ...(wantsBase ? ['build the root file system of the template base, about a minute'] : []),
    ...(wantsCriu ? [`install a private CRIU in ${facts.criuDirectory}`] : []),
    ...(wantsRunsc ? [`install a private gVisor in ${facts.runscDirectory}`] : []),
  ];
  for (const step of plan) log('info', options.install ? step : `would do: ${step}`);
  if (!options.install || plan.length === 0) return checkHost(options);
  if (!facts.root) {
    log('warn', 'Nothing was installed: that takes root.');
    return checkHost(options);
  }
  if (packages.length > 0) {
    if (facts.programs['apt-get'] === undefined)
      log('warn', 'There is no apt-get: install the packages by hand.');
    else await aptInstall(facts.programs['apt-get'], packages, log);
  }
  if (wantsUser) {
    const options = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'];
    options.push('--shell', '/usr/sbin/nologin', EGRESS_USER);
    const { exitCode, stderr } = await runProgram('useradd', options);
    if (exitCode !== 0) log('warn', `${EGRESS_USER} could not be made: ${stderr.trim()}`);
  }
  for (const name of modules) await runProgram('modprobe', [name]).catch(() => undefined);
  if (wantsCriu) {
    try {
      const { installPrivateCriu } = await import('./private-tools.js');
      await installPrivateCriu({ directory: facts.criuDirectory, log: (line) => log('info', line) });
    } catch (error) {
      log('warn', `CRIU could not be installed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (wantsRunsc) {
    try {
      const { installPrivateRunsc } = await import('./private-tools.js');
      await installPrivateRunsc({ directory: facts.runscDirectory, log: (line) => log('info', line) });
    } catch (error) {
      const detail = DriverError.is(error) ? error.detail : undefined;
      log('warn', detail ?? String(error));
    }
  }
  if (wantsBase) {
    try {
      await buildBase({ ...options, log: (line) => log('info', line) });
    } catch (error) {
      log('warn', error instanceof Error ? error.message : String(error));
    }
  }
  return checkHost(options);
}

async function aptInstall(aptGet: string, packages: string[], log: FixHostOptions['log']): Promise<void> {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_'));
  const env = { ...Object.fromEntries(own), DEBIAN_FRONTEND: 'noninteractive' };
  await runProgram(aptGet, ['update', '-qq'], { env });
  const args = ['install', '-y', '-qq', '--no-install-recommends', ...packages];
  const { exitCode, stderr } = await runProgram(aptGet, args, { env });
  if (exitCode !== 0) log('warn', `apt-get ended with ${exitCode}: ${stderr.trim().slice(-500)}`);
}
