import { stopTrialCluster } from '@svc/runtime';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { withProgress } from '../../output/progress.js';
import { explained } from './explain.js';

export function addDown(cluster: Command): void {
  leaf(cluster, 'down', 'end the cluster of `svc cluster up` with everything in it, and remove its files')
    .option('--directory <dir>', 'where it is kept (default: /var/lib/svc/cluster)')
    .action(
      act(async (cli, { directory }: { directory?: string }) => {
        const stopped = await withProgress(cli.out, 'Ending the cluster', () =>
          explained(() => stopTrialCluster({ directory })),
        );
        cli.out.result({ stopped }, () =>
          stopped ? 'The cluster is gone, and everything that was in it.\n' : 'There is no cluster here.\n',
        );
      }),
    );
}
