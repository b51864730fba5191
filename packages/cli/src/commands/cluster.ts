import { DriverError } from '@svc/runtime/contract';
import {
  clusterStatus,
  findTrialCluster,
  joinCluster,
  startTrialCluster,
  stopTrialCluster,
} from '@svc/runtime/incus';
import type { Command } from 'commander';
import { act, leaf } from '../cli/leaf.js';
import { CliError, UsageError } from '../errors/cli-error.js';
import { withProgress } from '../output/progress.js';
import { formatTable } from '../output/table.js';
import { wholeNumber } from '../parse/number.js';

export function addClusterCommands(cluster: Command): void {
  addUp(cluster);
  addJoin(cluster);
  addStatus(cluster);
  addDown(cluster);
}

function addDown(cluster: Command): void {
  leaf(cluster, 'down', 'end the cluster of `svc cluster up` with everything in it, and remove its files')
    .option('--directory <dir>', 'where it is kept (default: /var/lib/svc/cluster)')
    .action(
      act(async (cli, { directory }: { directory?: string }) => {
        const stopped = await withProgress(cli.out, 'Ending the cluster', () =>
          explained(() => stopTrialCluster({ directory })),
        );
        cli.out.result({ stopped }, () =>
          stopped
            ? 'The cluster is deleted, and everything that was in it.\n'
            : 'There is no cluster here.\n',
        );
      }),
    );
}

/** Runs what the cluster commands do; an operator reads the detail too. */
async function explained<T>(task: () => Promise<T>, hint?: string): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (!DriverError.is(error)) throw error;
    const detail = [error.detail, hint].filter((part) => part !== undefined && part !== '').join('\n');
    throw new CliError(error.message, {
      code: error.code,
      cause: error,
      ...(detail === '' ? {} : { hint: detail }),
    });
  }
}

interface JoinFlags {
  address: string;
  socket?: string;
  poolSource?: Record<string, string>;
}

function addJoin(cluster: Command): void {
  leaf(cluster, 'join <token>', 'make the Incus of this machine a member of a cluster; as root')
    .requiredOption(
      '--address <host>',
      'under which the members reach this machine, with :port if it is not 8443',
    )
    .option(
      '--pool-source <pool=source>',
      'device or directory for a storage pool here; repeatable',
      readPoolSource,
    )
    .option('--socket <path>', 'socket of Incus (default: /var/lib/incus/unix.socket)')
    .action(
      act(async (cli, token: string, { address, socket, poolSource }: JoinFlags) => {
        const joined = await withProgress(cli.out, 'Joining the cluster', () =>
          explained(
            () => joinCluster({ token, serverAddress: address, socket, poolSources: poolSource }),
            'Incus must be installed on this machine and hold no instances yet; `incus cluster add NAME` on a member prints a token, for one use.',
          ),
        );
        cli.out.result(joined, () => `This machine is ${joined.member} of the cluster now.\n`);
      }),
    );
}

function readPoolSource(given: string, before: Record<string, string> = {}): Record<string, string> {
  const [, pool, source] = /^([^=]+)=(.+)$/.exec(given) ?? [];
  if (pool === undefined || source === undefined)
    throw new UsageError(`--pool-source ${given}: write pool=source, such as default=/dev/sdb.`);
  return { ...before, [pool]: source };
}

interface StatusFlags {
  address?: string;
  directory?: string;
}

function addStatus(cluster: Command): void {
  leaf(cluster, 'status', 'show the machines of a cluster, their state, and what runs on them')
    .option(
      '--address <socket>',
      "an Incus socket of this machine (SVC_INCUS_ADDRESS; default: the trial cluster's)",
    )
    .option('--directory <dir>', 'where the trial cluster is kept (default: /var/lib/svc/cluster)')
    .action(
      act(async (cli, { address: given, directory }: StatusFlags) => {
        const trial = given === undefined ? await findTrialCluster({ directory }) : undefined;
        if (trial?.up === false)
          throw new CliError(`The cluster in ${trial.plan.directory} does not run.`, {
            code: 'not_running',
            hint: '`sudo svc cluster up` starts it again, `sudo svc cluster down` removes it.',
          });
        const address =
          given ??
          trial?.plan.members.map(({ socket }) => socket).join(',') ??
          cli.env.SVC_INCUS_ADDRESS ??
          '/var/lib/incus/unix.socket';
        const status = await explained(
          () => clusterStatus({ address, project: cli.env.SVC_INCUS_PROJECT }),
          'Its socket is for root and its group alone: try with sudo. `sudo svc cluster up` starts a cluster for trying.',
        );
        cli.out.result({ trial: trial?.plan.directory, ...status }, () => {
          const head = `Incus ${status.version}${trial === undefined ? '' : `, the trial cluster in ${trial.plan.directory}`}\n`;
          if (status.members.length === 0) return `${head}One server of its own, no cluster.\n`;
          return (
            head +
            formatTable(
              status.members,
              [
                { head: 'MEMBER', value: ({ name }) => name },
                { head: 'ADDRESS', value: ({ address: at }) => at },
                { head: 'STATUS', value: ({ status: state }) => state },
                { head: 'DATABASE', value: ({ database }) => (database ? 'yes' : 'no') },
                { head: 'SANDBOXES', value: ({ sandboxes }) => sandboxes, align: 'right' },
              ],
              cli.out.style,
            )
          );
        });
      }),
    );
}

interface UpFlags {
  members?: number;
  directory?: string;
  disk?: number;
}

const MIB_PER_GIB = 1024;

function addUp(cluster: Command): void {
  leaf(cluster, 'up', 'start an Incus cluster on this machine alone, for trying; as root')
    .option('--members <count>', 'machines that it plays (default: 3)', wholeNumber('--members', 1, 9))
    .option('--disk <GiB>', 'most that each of them stores (default: 10)', wholeNumber('--disk', 2, 10_000))
    .option('--directory <dir>', 'where everything is kept (default: /var/lib/svc/cluster)')
    .action(
      act(async (cli, { members, directory, disk }: UpFlags) => {
        const plan = await withProgress(
          cli.out,
          'Starting the cluster; the first time Incus is fetched from the Debian mirror',
          () =>
            explained(() =>
              startTrialCluster({
                directory,
                members,
                ...(disk === undefined ? {} : { diskMiB: disk * MIB_PER_GIB }),
                log: (line) => cli.out.note(line),
              }),
            ),
        );
        const address = plan.members.map(({ socket }) => socket).join(',');
        const found = directory === undefined ? '' : ` SVC_INCUS_ADDRESS=${address}`;
        cli.out.result(
          { directory: plan.directory, members: plan.members, address },
          () =>
            `A cluster of ${plan.members.length} runs in ${plan.directory}. Its sandboxes reach each other and other networks not at all.\n` +
            `Use it:  sudo${found} svc server up --driver incus\nEnd it:  sudo svc cluster down${directory === undefined ? '' : ` --directory ${directory}`}\n`,
        );
      }),
    );
}
