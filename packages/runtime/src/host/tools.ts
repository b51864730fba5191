import { join } from 'node:path';
import { DriverError } from '../contract/errors.js';
import { runProgram } from '../shared/run-program.js';
import { describeMissing } from './finding.js';
import type { HostFacts } from './host-facts.js';
import { judgeHost } from './judge-host.js';
import { CRIU_MINIMUM, suffices } from './programs.js';

/** The programs that the `linux` driver works with. */
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
  /** Path of the private gVisor runtime, with its version; why there is none. */
  runsc: string | undefined;
  runscVersion: string | undefined;
  runscProblem: string | undefined;
}

/**
 * Chooses the tools on a host. @param named whether the OCI runtime was asked for by name: then it starts instances too.
 * @throws {DriverError} `unsupported` naming everything that is missing.
 */
export async function chooseTools(facts: HostFacts, { named }: { named: boolean }): Promise<Tools> {
  const missing = describeMissing(judgeHost(facts));
  const runtime = facts.ociRuntimePath;
  if (missing.length > 0 || runtime === undefined)
    throw new DriverError('unsupported', `Isolated sandboxes are not possible here. ${missing.join(' ')}`);
  const version = await runProgram(runtime, ['--version'], { timeoutMs: 10_000 });
  const criuProblem = problemOfCriu(facts, runtime);
  return {
    runtime,
    runtimeVersion: version.stdout.split('\n')[0]?.trim() ?? '',
    starter: (named ? undefined : facts.programs.crun) ?? runtime,
    criu: criuProblem === undefined ? facts.criuDirectory : undefined,
    criuVersion: facts.criuVersion,
    criuProblem,
    runsc: facts.runscVersion === undefined ? undefined : join(facts.runscDirectory, 'runsc'),
    runscVersion: facts.runscVersion,
    runscProblem:
      facts.runscVersion === undefined
        ? `gVisor is missing in ${facts.runscDirectory} (svc server doctor --fix --isolation gvisor installs it).`
        : undefined,
  };
}

function problemOfCriu({ criuVersion, criuDirectory }: HostFacts, runtime: string): string | undefined {
  if (!/(^|\/)runc$/.test(runtime)) return `Memory is stored through runc only, not through ${runtime}.`;
  if (criuVersion === undefined)
    return `CRIU ${CRIU_MINIMUM} or later is missing in ${criuDirectory} (scripts/prepare-host.sh --criu installs it).`;
  if (suffices(criuVersion)) return undefined;
  return `CRIU ${criuVersion} in ${criuDirectory} is too old: ${CRIU_MINIMUM} is needed.`;
}
