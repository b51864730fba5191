import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { stateOf } from './list.js';

export function addDrain(node: Command): void {
  leaf(node, 'drain <node>', 'send new sandboxes to other nodes; what runs goes on')
    .option('--pause', 'pause what runs, with its memory where that can be stored')
    .action(
      act(async (cli, nodeId: string, { pause }: { pause?: boolean }) => {
        const { nodes } = await cli.operator(pause === true ? { destroys: true } : {});
        const drained = await nodes.drain(nodeId, {
          sandboxes: pause === true ? 'pause' : 'keep',
          signal: cli.signal,
        });
        cli.out.result(
          drained,
          () => `${nodeId} is ${stateOf(drained)}; ${drained.sandboxes.running} sandboxes run on it\n`,
        );
      }),
    );
  leaf(node, 'undrain <node>', 'take a drained node into use again').action(
    act(async (cli, nodeId: string) => {
      const { nodes } = await cli.operator();
      const node = await nodes.undrain(nodeId, { signal: cli.signal });
      cli.out.result(node, () => `${nodeId} is ${stateOf(node)}\n`);
    }),
  );
}
