import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatAge, formatPairs, formatUntil } from '../../output/format.js';
import { detailRecord } from './sandbox-record.js';

export function addInfo(sandbox: Command): void {
  leaf(sandbox, 'info <id>', 'show everything about a sandbox').action(
    act(async (cli, id: string) => {
      const handle = await cli.sandbox(id);
      const info = await handle.info({ signal: cli.signal });
      const now = Date.now();
      const running = info.state === 'running';
      cli.out.fields(detailRecord(info), {
        Sandbox: info.sandboxId,
        State: running ? cli.out.style.green(info.state) : cli.out.style.yellow(info.state),
        Template: info.alias === undefined ? info.templateId : `${info.alias} (${info.templateId})`,
        Started: `${info.startedAt.toISOString()} (${formatAge(info.startedAt, now)})`,
        [running ? 'Ends' : 'Paused']:
          `${info.endAt.toISOString()} (${running ? formatUntil(info.endAt, now) : formatAge(info.endAt, now)})`,
        'At the end': info.lifecycle.onTimeout + (info.lifecycle.autoResume ? ', resumed by requests' : ''),
        Size: `${info.cpuCount} CPU, ${info.memoryMiB} MiB of memory, ${info.diskMiB} MiB of disk`,
        Isolation: info.isolation,
        Internet: info.allowInternetAccess === false ? 'no' : 'yes',
        Network: info.network === undefined ? undefined : JSON.stringify(info.network),
        Metadata: formatPairs(info.metadata),
        Volumes: formatPairs(info.volumeMounts),
        Daemon: info.envdVersion,
      });
    }),
  );
}
