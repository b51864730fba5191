import type { Command } from 'commander';
import { addDelete } from '../cli/delete-named.js';
import { act, leaf } from '../cli/leaf.js';
import { formatAge, formatPairs } from '../output/format.js';
import { collectPairs } from '../parse/pairs.js';
import { readSecret } from '../terminal/read-secret.js';

export function addSecretCommands(secret: Command): void {
  addCreate(secret);
  addList(secret);
  addGet(secret);
  addUpdate(secret);
  addDelete(secret, {
    usage: '<names...>',
    summary: 'delete secrets; sandboxes can no longer use them',
    what: 'secret',
    of: (client) => client.secrets,
  });
}

function addGet(secret: Command): void {
  leaf(secret, 'get <name>', 'show a secret, by name or id, without its value').action(
    act(async (cli, name: string) => {
      const client = await cli.client();
      const found = await client.secrets.get(name, { signal: cli.signal });
      const now = Date.now();
      cli.out.fields(found, {
        Secret: found.name,
        Id: found.secretId,
        Version: found.currentVersion,
        Created: formatAge(found.createdAt, now),
        Updated: formatAge(found.updatedAt, now),
        Metadata: formatPairs(found.metadata),
      });
    }),
  );
}

function addList(secret: Command): void {
  leaf(secret, 'list', 'list secrets, without their values')
    .alias('ls')
    .option('-q, --quiet', 'print only the names')
    .action(
      act(async (cli, { quiet }: { quiet?: boolean }) => {
        const client = await cli.client();
        const items = await client.secrets.list({ signal: cli.signal }).toArray();
        const now = Date.now();
        cli.out.table(
          items,
          [
            { head: 'NAME', value: ({ name }) => name },
            { head: 'ID', value: ({ secretId }) => secretId },
            { head: 'VERSION', value: ({ currentVersion }) => currentVersion, align: 'right' },
            { head: 'UPDATED', value: ({ updatedAt }) => formatAge(updatedAt, now) },
            { head: 'METADATA', value: ({ metadata }) => formatPairs(metadata) },
          ],
          'No secrets. `svc secret create NAME` keeps one.',
          quiet ? ({ name }) => name : undefined,
        );
      }),
    );
}

interface StoreFlags {
  value?: string;
  metadata?: Record<string, string>;
}

function addCreate(secret: Command): void {
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

function addUpdate(secret: Command): void {
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
