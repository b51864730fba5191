import { clusterStatus, findTrialCluster } from '@svc/runtime';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { CliError } from '../../errors/cli-error.js';
import { formatTable } from '../../output/table.js';
import { explained } from './explain.js';

interface StatusFlags {
  address?: string;
  directory?: string;
}

export function addStatus(cluster: Command): void {
  leaf(cluster, 'status', 'tell which machines a cluster has, how they are, and what runs on them')
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
