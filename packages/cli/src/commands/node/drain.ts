import type { OperatedNode } from '@svc/sdk/operator';
import type { Command } from 'commander';
import type { Cli } from '../../cli/cli.js';
import { act, leaf } from '../../cli/leaf.js';
import { ExitWith, exitCodes, UsageError } from '../../errors/cli-error.js';
import { withProgress } from '../../output/progress.js';
import { stateOf } from './list.js';
import { stayingLines, waitUntilMoved } from './wait-until-moved.js';

interface DrainFlags {
  pause?: boolean;
  move?: boolean;
  wait?: boolean;
}

export function addDrain(node: Command): void {
  leaf(node, 'drain <node>', 'send new sandboxes to other nodes; what runs goes on')
    .option('--pause', 'pause what runs, with its memory where that can be stored')
    .option('--move', 'have the node empty itself: what runs, is paused or stored goes to other nodes')
    .option('--wait', 'with --move: until nothing is left to move; ends with 1 when something stays')
    .action(
      act(async (cli, nodeId: string, { pause = false, move = false, wait = false }: DrainFlags) => {
        if (pause && move) throw new UsageError('--pause and --move cannot be given together');
        if (wait && !move) throw new UsageError('--wait needs --move');
        const { nodes } = await cli.operator(pause || move ? { destroys: true } : {});
        const sandboxes = move ? 'move' : pause ? 'pause' : 'keep';
        const drained = await nodes.drain(nodeId, { sandboxes, signal: cli.signal });
        if (wait) return waitForMove(cli, drained);
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

async function waitForMove(cli: Cli, { nodeId }: OperatedNode): Promise<void> {
  const { signal } = cli;
  const { nodes } = await cli.operator();
  let told = '';
  const find = async () => (await nodes.list({ signal })).find((each) => each.nodeId === nodeId);
  const { node, kind } = await withProgress(cli.out, `${nodeId} empties itself`, ({ update }) =>
    waitUntilMoved(
      find,
      (text) => {
        update(`${nodeId}: ${text}`);
        // Where nothing is redrawn, each change is a line.
        if (!cli.out.interactive && text !== told) cli.out.note(`${nodeId}: ${text}`);
        told = text;
      },
      signal,
    ),
  );
  const texts = {
    left: `${nodeId} is empty`,
    stays: `${nodeId} is not empty`,
    stopped: `${nodeId} was taken into use again`,
  };
  const lines = [texts[kind], ...(kind === 'stays' && node !== undefined ? stayingLines(node) : [])];
  cli.out.result(node ?? null, () => lines.map((line) => `${line}\n`).join(''));
  if (kind !== 'left') throw new ExitWith(exitCodes.failure);
}
