import { startTrialCluster } from '@svc/runtime';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { withProgress } from '../../output/progress.js';
import { wholeNumber } from '../../parse/number.js';
import { explained } from './explain.js';

interface UpFlags {
  members?: number;
  directory?: string;
  disk?: number;
}

const MIB_PER_GIB = 1024;

export function addUp(cluster: Command): void {
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
