import type { OperatedNode } from '@svc/sdk/operator';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatDuration } from '../../output/format.js';

export function addList(node: Command): void {
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

/** How a node stands, in a word or two. Pure. */
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
