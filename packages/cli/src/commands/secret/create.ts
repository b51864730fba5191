import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { collectPairs } from '../../parse/pairs.js';
import { readSecret } from '../../terminal/read-secret.js';

interface CreateFlags {
  value?: string;
  metadata?: Record<string, string>;
}

export function addCreate(secret: Command): void {
  leaf(secret, 'create <new-name>', 'store a secret; its value is piped in or typed, and never shown again')
    .option('--value <text>', 'the value itself: INSECURE, other users can read command lines')
    .option('-m, --metadata <key=value>', 'metadata to store with it; repeatable', collectPairs)
    .action(
      act(async (cli, name: string, flags: CreateFlags) => {
        const client = await cli.client();
        const value = await readSecret(cli, `Value of ${name}`, flags.value);
        const made = await client.secrets.create(
          { name, value, metadata: flags.metadata },
          { signal: cli.signal },
        );
        cli.out.result(made, () => `${made.name}  ${made.secretId}\n`);
      }),
    );
}
