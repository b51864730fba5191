import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';

export function addForget(node: Command): void {
  leaf(
    node,
    'forget <node>',
    'give up a node that is lost: its sandboxes and volumes end, and what only it had of templates and snapshots fails',
  ).action(
    act(async (cli, nodeId: string) => {
      const { nodes } = await cli.operator({ destroys: true });
      const forgotten = await nodes.forget(nodeId, { signal: cli.signal });
      cli.out.result(
        forgotten,
        () =>
          `Gave up ${nodeId}: ${forgotten.sandboxes} sandboxes ended, ${forgotten.builds} snapshots or builds and ${forgotten.volumes} volumes are lost\n`,
      );
    }),
  );
}
