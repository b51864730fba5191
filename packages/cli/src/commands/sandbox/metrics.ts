import type { SandboxMetrics } from '@svc/sdk';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatBytes } from '../../output/format.js';
import { parseTime } from '../../parse/time.js';

export function addMetrics(sandbox: Command): void {
  leaf(sandbox, 'metrics <id>', 'show the processor, memory and disk use of a sandbox, oldest first')
    .option('--since <time>', 'from this time on: 10m, 2026-01-31T12:00:00Z', (text) => parseTime(text))
    .option('--until <time>', 'up to this time', (text) => parseTime(text))
    .action(
      act(async (cli, id: string, flags: { since?: Date; until?: Date }) => {
        const { signal } = cli;
        const handle = await cli.sandbox(id);
        const samples = await handle.metrics({ signal, start: flags.since, end: flags.until });
        cli.out.table(
          samples,
          [
            { head: 'TIME', value: ({ timestamp }) => timestamp.toISOString() },
            { head: 'CPU', value: ({ cpuUsedPercent }) => `${cpuUsedPercent.toFixed(1)} %`, align: 'right' },
            { head: 'CORES', value: ({ cpuCount }) => cpuCount, align: 'right' },
            { head: 'MEMORY', value: memory, align: 'right' },
            { head: 'DISK', value: disk, align: 'right' },
          ],
          'No sample yet: one is taken every 5 seconds.',
        );
      }),
    );
}

function memory({ memoryUsedBytes, memoryTotalBytes }: SandboxMetrics): string {
  return `${formatBytes(memoryUsedBytes)} of ${formatBytes(memoryTotalBytes)}`;
}

function disk({ diskUsedBytes, diskTotalBytes }: SandboxMetrics): string {
  return `${formatBytes(diskUsedBytes)} of ${formatBytes(diskTotalBytes)}`;
}
