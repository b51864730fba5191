import { DriverError, type Isolation } from '@svc/runtime/contract';
import { checkHost, type Finding, fixHost, linuxDriverCanRun, type TrialStart } from '@svc/runtime/host';
import { checkIncus } from '@svc/runtime/incus';
import type { TryStartOptions } from '@svc/server';
import { type Command, Option } from 'commander';
import type { Cli } from '../../cli/cli.js';
import { act, leaf } from '../../cli/leaf.js';
import { findDataDirectory } from '../../connection/local-servers.js';
import { ExitWith, exitCodes } from '../../errors/cli-error.js';
import type { Style } from '../../output/style.js';
import { printable } from '../../output/table.js';

interface DoctorFlags {
  driver?: 'linux' | 'incus';
  fix?: boolean;
  dryRun?: boolean;
  ociRuntime?: string;
  isolation?: Isolation;
  start?: boolean;
  dataDir?: string;
}

/** The effect of a missing feature. */
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
  leaf(server, 'doctor', 'check this machine for what isolated sandboxes need')
    .addOption(
      new Option(
        '--driver <name>',
        'what is to run sandboxes: linux, this machine, or incus, a cluster (SVC_DRIVER)',
      ).choices(['linux', 'incus']),
    )
    .option('--fix', 'get what is missing: Debian packages, the template base, a private CRIU; as root')
    .option('--dry-run', 'with --fix: only say what would be done')
    .option('--oci-runtime <name>', 'runc, crun, runsc, kata or a path (default: runc, with crun to start)')
    .addOption(
      new Option(
        '--isolation <tier>',
        'isolation from this kernel: container, or gvisor, which --fix then gets (SVC_ISOLATION)',
      ).choices(['container', 'gvisor']),
    )
    .option('--no-start', 'do not start a sandbox at the end to see that it can be')
    .option('--data-dir <dir>', 'data directory of the server (SVC_DATA_DIR)')
    .action(
      act(async (cli, flags: DoctorFlags) => {
        const { fix = false, dryRun = false, ociRuntime } = flags;
        if ((flags.driver ?? cli.env.SVC_DRIVER) === 'incus') return diagnoseIncus(cli, flags);
        const { dataDir } = await findDataDirectory(cli.env, flags.dataDir);
        const isolation = flags.isolation ?? (cli.env.SVC_ISOLATION === 'gvisor' ? 'gvisor' : 'container');
        const host = { dataDir, isolation, ...(ociRuntime === undefined ? {} : { ociRuntime }) };
        const found = fix
          ? await fixHost({ ...host, install: !dryRun, log: (_level, line) => cli.out.note(line) })
          : await checkHost(host);
        // Loaded here: the server's code is large, and other commands do without.
        const { foreseeUser, tryStart } = await import('@svc/server');
        const findings =
          flags.start === false || !linuxDriverCanRun(found)
            ? found
            : [...found, ...(await findStarts(found, { isolation, ociRuntime }, tryStart))];
        const isolated = linuxDriverCanRun(findings);
        const serverUser = await foreseeUser(dataDir);
        const record = { isolated, findings, serverUser };
        cli.out.result(record, () => formatFindings(record, cli.out.style));
        if (!isolated) throw new ExitWith(exitCodes.failure);
      }),
    );
}

/** Says of a cluster what is there, as the settings name it, and sees whether its members keep sandboxes from the network. */
async function diagnoseIncus(cli: Cli, { start }: Pick<DoctorFlags, 'start'>): Promise<void> {
  const { loadConfig, tryFences } = await import('@svc/server');
  const { incus = {} } = await loadConfig({ env: cli.env });
  const found = await checkIncus(incus);
  const isolated = linuxDriverCanRun(found);
  const fenced = isolated && found.some(({ id, ok }) => id === 'fence' && ok);
  const findings = fenced && start !== false ? [...found, ...(await tryFences({ incus }))] : found;
  const verdict = isolated
    ? cli.out.style.green('Sandboxes can run there: svc server up --driver incus')
    : cli.out.style.red('Sandboxes cannot run there yet.');
  cli.out.result({ isolated, findings }, () => `${formatLines(findings, cli.out.style)}\n\n${verdict}\n`);
  if (!isolated) throw new ExitWith(exitCodes.failure);
}

/**
 * Starts a sandbox of each kind that the host seems to be able to run. What was asked for is needed; of the others it is
 * good to know.
 */
async function findStarts(
  found: readonly Finding[],
  asked: TryStartOptions,
  tryStart: (options: TryStartOptions) => Promise<TrialStart | undefined>,
): Promise<Finding[]> {
  const hasGvisor = found.some(({ id, ok }) => id === 'gvisor' && ok);
  const kinds: Isolation[] = hasGvisor ? ['container', 'gvisor'] : ['container'];
  const starts: Finding[] = [];
  for (const isolation of kinds) {
    const neededFor =
      isolation === asked.isolation ? 'driver' : isolation === 'gvisor' ? 'gvisor' : 'comfort';
    const finding = { id: `start-${isolation}`, neededFor } as const;
    try {
      const trial = await tryStart({ ...asked, isolation });
      const message =
        trial === undefined
          ? `There was no room to start a sandbox (${isolation}).`
          : `A sandbox (${isolation}) started and answered in ${trial.startedMs} ms.`;
      starts.push({ ...finding, ok: trial !== undefined, message }, ...memoryFindings(isolation, trial));
    } catch (error) {
      const detail = DriverError.is(error) ? `${error.message} ${error.detail ?? ''}` : String(error);
      starts.push({
        ...finding,
        ok: false,
        message: `A sandbox (${isolation}) does not start: ${detail}`.trim(),
      });
    }
  }
  return starts;
}

function memoryFindings(isolation: Isolation, trial: TrialStart | undefined): Finding[] {
  if (trial?.memoryProblem === undefined && trial?.restoredMs === undefined) return [];
  const { memoryProblem, restoredMs } = trial;
  const message =
    memoryProblem ?? `The memory of a sandbox (${isolation}) was stored and restored in ${restoredMs} ms.`;
  return [
    { id: `memory-${isolation}`, neededFor: 'memorySnapshot', ok: memoryProblem === undefined, message },
  ];
}

interface Diagnosis {
  isolated: boolean;
  findings: readonly Finding[];
  /** As whom the server would run. */
  serverUser: string;
}

/** The findings for people, and what follows. Pure. */
export function formatFindings({ isolated, findings, serverUser }: Diagnosis, style: Style): string {
  const lacks = findings.some(({ ok }) => !ok);
  const verdict = isolated
    ? style.green(
        `This machine can run isolated sandboxes: svc server up${lacks ? '. What is marked "-" is optional.' : ''}`,
      )
    : `${style.red('This machine cannot run isolated sandboxes yet.')}\n\`sudo svc server doctor --fix\` gets what it may. \`svc server up --driver process\` does without isolation.`;
  return `${formatLines(findings, style)}\n\n${verdict}\n${printable(serverUser)}\n`;
}

/** A line for each finding, and one for what helps. Pure. */
function formatLines(findings: readonly Finding[], style: Style): string {
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
  return lines.join('\n');
}
