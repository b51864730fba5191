import type { LifecycleEventType } from '@svc/sdk';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { readSecret } from '../../terminal/read-secret.js';
import { collectEvents } from './event-types.js';

interface UpdateFlags {
  name?: string;
  url?: string;
  events?: LifecycleEventType[];
  secret?: boolean;
  enable?: boolean;
  disable?: boolean;
}

export function addUpdate(webhook: Command): void {
  leaf(webhook, 'update <id>', 'change the settings of a webhook')
    .option('--name <name>', 'name of the webhook')
    .option('--url <url>', 'where to send events')
    .option('--events <names>', 'the events to send instead', collectEvents)
    .option('--secret', 'ask for a new signing key, or read it from a pipe')
    .option('--enable', 'deliver')
    .option('--disable', 'stop deliveries')
    .action(
      act(async (cli, id: string, flags: UpdateFlags) => {
        const { name, url, events, secret, enable, disable } = flags;
        if (enable && disable) throw new UsageError('--enable and --disable contradict each other.');
        const enabled = enable ? true : disable ? false : undefined;
        if (![name, url, events, secret, enabled].some((value) => value !== undefined))
          throw new UsageError('No change is given.', '`svc webhook update --help` lists the options.');
        const client = await cli.client();
        const signatureSecret = secret ? await readSecret(cli, 'New signing key', undefined) : undefined;
        const change = { name, url, events, signatureSecret, enabled };
        const updated = await client.webhooks.update(id, change, { signal: cli.signal });
        cli.out.result(updated, () => `Changed ${updated.id}\n`);
      }),
    );
}
