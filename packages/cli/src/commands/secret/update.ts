import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { collectPairs } from '../../parse/pairs.js';
import { readSecret } from '../../terminal/read-secret.js';

interface UpdateFlags {
  value?: string;
  metadata?: Record<string, string>;
}

export function addUpdate(secret: Command): void {
  leaf(secret, 'update <name>', 'store a new value, which is used from then on')
    .option('--value <text>', 'the value itself: INSECURE, other users can read command lines')
    .option('-m, --metadata <key=value>', 'replace the metadata; repeatable', collectPairs)
    .action(
      act(async (cli, name: string, flags: UpdateFlags) => {
        const client = await cli.client();
        const value = await readSecret(cli, `New value of ${name}`, flags.value);
        const { metadata } = flags;
        const updated = await client.secrets.update(name, { value, metadata }, { signal: cli.signal });
        cli.out.result(updated, () => `${updated.name} is at version ${updated.currentVersion}.\n`);
      }),
    );
}
