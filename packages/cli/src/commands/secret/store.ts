import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { collectPairs } from '../../parse/pairs.js';
import { readSecret } from '../../terminal/read-secret.js';

interface StoreFlags {
  value?: string;
  metadata?: Record<string, string>;
}

export function addCreate(secret: Command): void {
  const summary = 'store a secret; its value is piped in or typed, and never shown again';
  storing(secret, 'create <new-name>', summary, 'metadata to store with it; repeatable').action(
    act(async (cli, name: string, flags: StoreFlags) => {
      const client = await cli.client();
      const value = await readSecret(cli, `Value of ${name}`, flags.value);
      const { metadata } = flags;
      const made = await client.secrets.create({ name, value, metadata }, { signal: cli.signal });
      cli.out.result(made, () => `${made.name}  ${made.secretId}\n`);
    }),
  );
}

export function addUpdate(secret: Command): void {
  const summary = 'store a new value, which is used from then on';
  storing(secret, 'update <name>', summary, 'replace the metadata; repeatable').action(
    act(async (cli, name: string, flags: StoreFlags) => {
      const client = await cli.client();
      const value = await readSecret(cli, `New value of ${name}`, flags.value);
      const { metadata } = flags;
      const updated = await client.secrets.update(name, { value, metadata }, { signal: cli.signal });
      cli.out.result(updated, () => `${updated.name} is at version ${updated.currentVersion}.\n`);
    }),
  );
}

const storing = (secret: Command, usage: string, summary: string, metadata: string) =>
  leaf(secret, usage, summary)
    .option('--value <text>', 'the value itself: INSECURE, other users can read command lines')
    .option('-m, --metadata <key=value>', metadata, collectPairs);
