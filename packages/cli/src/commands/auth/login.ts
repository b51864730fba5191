import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { configFile, writeConfig } from '../../connection/config-file.js';
import { resolveConnection } from '../../connection/resolve-connection.js';
import { readSecret } from '../../terminal/read-secret.js';

interface LoginFlags {
  domain?: string;
  apiUrl?: string;
  sandboxUrl?: string;
  check: boolean;
}

export function addLogin(auth: Command): void {
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
