import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { addEgressOptions, type EgressFlags, toEgress } from './network-flags.js';

export function addNetwork(sandbox: Command): void {
  const command = leaf(
    sandbox,
    'network <id>',
    'show the outbound network rules of a sandbox; with options, replace all of them',
  )
    .option('--internet', 'allow the internet')
    .option('--no-internet', 'no connections to the internet');
  addEgressOptions(command).action(
    act(async (cli, id: string, flags: EgressFlags & { internet?: boolean }) => {
      const egress = toEgress(flags);
      const { internet } = flags;
      const changes = internet !== undefined || Object.keys(egress).length > 0;
      const { signal } = cli;
      const handle = await cli.sandbox(id);
      if (changes) await handle.updateNetwork({ ...egress, allowInternetAccess: internet }, { signal });
      const { network, allowInternetAccess } = await handle.info({ signal });
      cli.out.result({ sandboxId: id, allowInternetAccess, network }, () =>
        [
          `Internet: ${allowInternetAccess === false ? 'no' : 'yes'}`,
          ...(network === undefined ? [] : [JSON.stringify(network, null, 2)]),
          '',
        ].join('\n'),
      );
    }),
  );
}
