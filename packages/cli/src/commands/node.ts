import { setTimeout as sleep } from 'node:timers/promises';
import type { OperatedNode } from '@svc/sdk/operator';
import type { Command } from 'commander';
import type { Cli } from '../cli/cli.js';
import { deleteNamed } from '../cli/delete-named.js';
import { act, leaf } from '../cli/leaf.js';
import { ExitWith, exitCodes, UsageError } from '../errors/cli-error.js';
import { formatDuration } from '../output/format.js';
import { withProgress } from '../output/progress.js';

export function addNodeCommands(node: Command): void {
  addList(node);
  addDrain(node);
  addRemove(node);
  addForget(node);
  node.addHelpText(
    'after',
    "\nFor operators of servers that share a PostgreSQL: these commands use the operator port of any of them with its operator token,\nfound by themselves on the server's machine, on others by SVC_OPERATOR_URL and SVC_OPERATOR_TOKEN.",
  );
}

interface DrainFlags {
  pause?: boolean;
  move?: boolean;
  wait?: boolean;
}

function addDrain(node: Command): void {
  leaf(node, 'drain <node>', 'send new sandboxes to other nodes; running ones continue')
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

function addForget(node: Command): void {
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

function addList(node: Command): void {
  leaf(node, 'list', 'list the servers that share the database, and how full they are')
    .alias('ls')
    .action(
      act(async (cli) => {
        const { nodes } = await cli.operator();
        cli.out.table(
          await nodes.list({ signal: cli.signal }),
          [
            { head: 'ID', value: ({ nodeId }) => nodeId },
            { head: 'STATE', value: stateOf },
            {
              head: 'RUNNING',
              value: ({ sandboxes, report }) => ratio(sandboxes.running, report?.maxSandboxes),
            },
            { head: 'PAUSED', value: ({ sandboxes }) => `${sandboxes.paused}` },
            { head: 'POOL', value: ({ report }) => (report === undefined ? undefined : `${report.pooled}`) },
            { head: 'LOAD', value: ({ report }) => ratio(report?.load, report?.cpuCount) },
            {
              head: 'MEMORY FREE',
              value: ({ report }) => ratio(report?.memoryFreeMiB, report?.memoryTotalMiB, ' MiB'),
            },
            {
              head: 'DISK FREE',
              value: ({ report }) => (report === undefined ? undefined : `${report.diskFreeMiB} MiB`),
            },
            { head: 'VERSION', value: ({ report }) => report?.version },
            { head: 'API', value: ({ apiUrl }) => apiUrl },
          ],
          'No nodes.',
        );
      }),
    );
}

/** Returns the state of a node in a word or two. Pure. */
export function stateOf({ state, drain, lastSeenMs, moving }: OperatedNode): string {
  const drained = drain === 'no' ? '' : drain === 'move' ? `, ${howEmpty(moving)}` : ', drained';
  if (state !== 'silent') return `${state}${drained}`;
  return `silent for ${formatDuration(lastSeenMs ?? 0)}${drained}`;
}

function howEmpty(moving: OperatedNode['moving']): string {
  if (moving === undefined) return 'moving';
  const { sandboxes, templates, staysTotal } = moving;
  if (sandboxes + templates > 0) return `moving, ${sandboxes + templates} left`;
  return staysTotal > 0 ? `moved, ${staysTotal} stay` : 'moved';
}

function ratio(part: number | undefined, whole: number | undefined, unit = ''): string | undefined {
  if (part === undefined) return undefined;
  return `${part}${whole === undefined ? '' : `/${whole}`}${unit}`;
}

function addRemove(node: Command): void {
  leaf(node, 'remove <nodes...>', 'remove nodes that have stopped and have nothing')
    .alias('rm')
    .action(
      act(async (cli, ids: string[]) => {
        const { nodes } = await cli.operator({ destroys: true });
        await deleteNamed(cli, 'node', ids, (id) => nodes.remove(id, { signal: cli.signal }));
      }),
    );
}

/** Between two looks, ms: a node reports its progress with each heartbeat. */
const LOOK_MS = 1_000;

/** The meaning of a node's state for a move. */
type MoveProgress =
  | { kind: 'moving'; text: string }
  /** `left`: all left. `stays`: the rest cannot as things are. `stopped`: it empties itself no more. */
  | { kind: 'left' | 'stays' | 'stopped' };

/** Pure. */
export function moveProgress({ drain, state, moving }: OperatedNode): MoveProgress {
  if (drain !== 'move') return { kind: 'stopped' };
  if (state !== 'alive') return { kind: 'moving', text: `its server is ${state}: nothing leaves meanwhile` };
  if (moving === undefined) return { kind: 'moving', text: 'begins' };
  const { sandboxes, templates, staysTotal } = moving;
  if (sandboxes + templates > 0)
    return {
      kind: 'moving',
      text: `${sandboxes} sandboxes and ${templates} snapshots or templates are to leave${staysTotal > 0 ? `, ${staysTotal} things cannot` : ''}`,
    };
  return { kind: staysTotal > 0 ? 'stays' : 'left' };
}

/** Returns the objects that stay on a node and the reasons, a line each. Pure. */
export function stayingLines({ moving }: Pick<OperatedNode, 'moving'>): string[] {
  if (moving === undefined) return [];
  const lines = moving.stays.map(({ kind, id, reason }) => `${kind} ${id} stays: ${reason}`);
  const more = moving.staysTotal - moving.stays.length;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}

/**
 * Waits until nothing of a node is left to move.
 * @param find reads how it stands; undefined: there is no such node any more
 * @param report gets the progress
 */
export async function waitUntilMoved(
  find: () => Promise<OperatedNode | undefined>,
  report: (text: string) => void,
  signal: AbortSignal,
): Promise<{ node: OperatedNode | undefined; kind: 'left' | 'stays' | 'stopped' }> {
  for (;;) {
    const node = await find();
    if (node === undefined) return { node, kind: 'left' };
    const progress = moveProgress(node);
    if (progress.kind !== 'moving') return { node, kind: progress.kind };
    report(progress.text);
    await sleep(LOOK_MS, undefined, { signal });
  }
}
