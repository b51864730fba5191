import { checkHost, type Finding, fixHost, linuxDriverCanRun } from '@svc/runtime';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { findDataDirectory } from '../../connection/local-servers.js';
import { ExitWith, exitCodes } from '../../errors/cli-error.js';
import type { Style } from '../../output/style.js';
import { printable } from '../../output/table.js';

interface DoctorFlags {
  fix?: boolean;
  dryRun?: boolean;
  ociRuntime?: string;
  dataDir?: string;
}

/** What is lost without the thing. */
const losses: Record<Finding['neededFor'], string> = {
  driver: 'no isolated sandboxes',
  baseTemplate: 'no template base',
  images: 'no images of registries',
  memorySnapshot: 'no memory in pauses and forks',
  diskLimit: 'no disk limits',
  limits: 'no limits',
  networkIsolation: 'no network isolation',
  gvisor: 'no sandboxes with a kernel of their own',
  ownIds: 'no user ids of their own for sandboxes',
  comfort: 'works all the same',
};

export function addDoctor(server: Command): void {
  leaf(server, 'doctor', 'tell what this machine has of what isolated sandboxes need')
    .option('--fix', 'get what is missing: Debian packages, the template base, a private CRIU; as root')
    .option('--dry-run', 'with --fix: only say what would be done')
    .option('--oci-runtime <name>', 'runc, crun, runsc, kata or a path (default: runc, with crun to start)')
    .option('--data-dir <dir>', 'data directory of the server (SVC_DATA_DIR)')
    .action(
      act(async (cli, flags: DoctorFlags) => {
        const { fix = false, dryRun = false, ociRuntime } = flags;
        const { dataDir } = await findDataDirectory(cli.env, flags.dataDir);
        const host = { dataDir, ...(ociRuntime === undefined ? {} : { ociRuntime }) };
        const findings = fix
          ? await fixHost({ ...host, install: !dryRun, log: (_level, line) => cli.out.note(line) })
          : await checkHost(host);
        const isolated = linuxDriverCanRun(findings);
        // Loaded here: the server's code is large, and other commands do without.
        const { foreseeUser } = await import('@svc/server');
        const serverUser = await foreseeUser(dataDir);
        const record = { isolated, findings, serverUser };
        cli.out.result(record, () => formatFindings(record, cli.out.style));
        if (!isolated) throw new ExitWith(exitCodes.failure);
      }),
    );
}

interface Diagnosis {
  isolated: boolean;
  findings: readonly Finding[];
  /** As whom the server would run. */
  serverUser: string;
}

/** The findings for people, and what follows. Pure. */
export function formatFindings({ isolated, findings, serverUser }: Diagnosis, style: Style): string {
  const widest = Math.max(0, ...findings.map(({ id }) => id.length));
  const lines = findings.flatMap(({ id, ok, neededFor, message, fix }) => {
    const mark = ok ? style.green('ok  ') : neededFor === 'driver' ? style.red('NO  ') : style.yellow('-   ');
    const loss = ok ? '' : style.dim(` (${losses[neededFor]})`);
    const indent = ' '.repeat(widest + 6);
    return [
      `${mark}${id.padEnd(widest)}  ${printable(message)}${loss}`,
      ...(ok || fix === undefined ? [] : [`${indent}${fix}`]),
    ];
  });
  const lacks = findings.some(({ ok }) => !ok);
  const verdict = isolated
    ? style.green(
        `This machine can run isolated sandboxes: svc server up${lacks ? '. What is marked "-" is optional.' : ''}`,
      )
    : `${style.red('This machine cannot run isolated sandboxes yet.')}\n\`sudo svc server doctor --fix\` gets what it may. \`svc server up --driver process\` does without isolation.`;
  return `${lines.join('\n')}\n\n${verdict}\n${printable(serverUser)}\n`;
}
