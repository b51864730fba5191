import type { Command } from 'commander';
import { act, leaf } from '../cli/leaf.js';
import { configFile, removeConfig, writeConfig } from '../connection/config-file.js';
import { findConnection } from '../connection/find-connection.js';
import { resolveConnection } from '../connection/resolve-connection.js';
import { formatDuration, maskSecret } from '../output/format.js';
import { readSecret } from '../terminal/read-secret.js';

export function addAuthCommands(auth: Command): void {
  addLogin(auth);
  addStatus(auth);
  addLogout(auth);
}

interface LoginFlags {
  domain?: string;
  apiUrl?: string;
  sandboxUrl?: string;
  check: boolean;
}

function addLogin(auth: Command): void {
  leaf(auth, 'login', 'save an API key (piped in or typed) and the address of its service')
    .option('--domain <domain>', 'domain of the service: its API is at api.<domain>')
    .option('--no-check', 'do not check the key with the service')
    .action(
      act(async (cli, flags: LoginFlags) => {
        const { domain, apiUrl, sandboxUrl } = flags;
        const options = {
          ...(domain === undefined ? {} : { domain }),
          ...(apiUrl === undefined ? {} : { apiUrl }),
          ...(sandboxUrl === undefined ? {} : { sandboxUrl }),
        };
        const apiKey = await readSecret(cli, 'API key', undefined);
        const {
          keyFrom: _key,
          addressFrom: _address,
          ...addresses
        } = resolveConnection({
          options,
          env: { ...cli.env, SVC_API_KEY: undefined },
          config: {},
          local: undefined,
        });
        const team = flags.check ? await askTeam(addresses, apiKey, cli.signal) : undefined;
        const file = configFile(cli.env);
        await writeConfig(file, { ...addresses, apiKey });
        cli.out.result(
          { file, ...addresses, team: team?.name },
          () => `${team === undefined ? 'Kept the key' : `Logged in to the team ${team.name}`} (${file}).\n`,
        );
        if (cli.env.SVC_API_KEY) cli.out.warn('SVC_API_KEY is set and is used instead of the saved key.');
      }),
    );
}

async function askTeam(addresses: { apiUrl?: string; domain?: string }, apiKey: string, signal: AbortSignal) {
  const { Client } = await import('@svc/sdk');
  return new Client({ ...addresses, apiKey }).team({ signal });
}

function addLogout(auth: Command): void {
  leaf(auth, 'logout', 'remove the saved key').action(
    act(async (cli) => {
      const file = configFile(cli.env);
      const removed = await removeConfig(file);
      cli.out.result({ file, removed }, () => (removed ? `Removed ${file}.\n` : 'No key was kept.\n'));
      if (cli.env.SVC_API_KEY) cli.out.warn('SVC_API_KEY is still set in this terminal.');
    }),
  );
}

const defaultApiUrl = 'http://localhost:3000';

function addStatus(auth: Command): void {
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
      // Printed before it is tried: a failure alone would not say with what.
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
