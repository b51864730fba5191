import { joinCluster } from '@svc/runtime';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { withProgress } from '../../output/progress.js';
import { explained } from './explain.js';

interface JoinFlags {
  address: string;
  socket?: string;
  poolSource?: Record<string, string>;
}

export function addJoin(cluster: Command): void {
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
