import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { findConnection } from '../../connection/find-connection.js';
import { formatDuration, maskSecret } from '../../output/format.js';

const defaultApiUrl = 'http://localhost:3000';

export function addStatus(auth: Command): void {
  leaf(
    auth,
    'status',
    'show which service and key are used, where they come from, and whether they work',
  ).action(
    act(async (cli) => {
      const { apiUrl, sandboxUrl } = cli.options;
      const { connection, configPath } = await findConnection(cli.env, {
        ...(apiUrl === undefined ? {} : { apiUrl }),
        ...(sandboxUrl === undefined ? {} : { sandboxUrl }),
      });
      const { apiKey, keyFrom, addressFrom } = connection;
      const api =
        connection.apiUrl ??
        (connection.domain === undefined ? defaultApiUrl : `https://api.${connection.domain}`);
      const named = {
        environment: 'environment',
        settings: configPath,
        option: 'option',
        'local server': 'local server',
        default: 'default',
      };
      // Told before it is tried: a failure alone would not say with what.
      const shown = {
        Key:
          apiKey === undefined
            ? 'none'
            : `${maskSecret(apiKey)} (${keyFrom === undefined ? '' : named[keyFrom]})`,
        API: `${api} (${named[addressFrom]})`,
        Sandboxes: connection.sandboxUrl,
      };
      if (!cli.out.json) cli.out.fields(undefined, shown);
      const client = await cli.client();
      const team = await client.team({ signal: cli.signal });
      const { limits } = team;
      const record = { apiUrl: api, sandboxUrl: connection.sandboxUrl, keyFrom, addressFrom, team };
      cli.out.fields(record, {
        Team: `${team.name} (${team.slug})`,
        Limits: `${limits.maxConcurrentSandboxes} sandboxes at once, each up to ${limits.maxCpuCount} CPU, ${limits.maxMemoryMiB} MiB and ${formatDuration(limits.maxTimeoutMs)}`,
      });
    }),
  );
}
