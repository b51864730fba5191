import { randomBytes } from 'node:crypto';
import type { LifecycleEventType } from '@svc/sdk';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { readSecret } from '../../terminal/read-secret.js';
import { allEvents, collectEvents } from './event-types.js';

interface CreateFlags {
  name?: string;
  events?: LifecycleEventType[];
  secret?: boolean;
  disabled?: boolean;
}

export function addCreate(webhook: Command): void {
  leaf(webhook, 'create <url>', 'send events to an address, signed with a key that is printed once')
    .option('--name <name>', 'name of the webhook (default: the host)')
    .option('--events <names>', 'created, killed, paused, ... (default: all)', collectEvents)
    .option('--secret', 'ask for the signing key, or read it from a pipe, instead of making one')
    .option('--disabled', 'create it with deliveries turned off')
    .action(
      act(async (cli, url: string, flags: CreateFlags) => {
        const { events = allEvents, secret, disabled } = flags;
        const name = flags.name ?? (URL.canParse(url) ? new URL(url).host : 'webhook');
        const client = await cli.client();
        const signatureSecret = secret ? await readSecret(cli, 'Signing key', undefined) : newSigningKey();
        const made = await client.webhooks.create(
          { name, url, events, signatureSecret, ...(disabled ? { enabled: false } : {}) },
          { signal: cli.signal },
        );
        const shown = secret ? {} : { signatureSecret };
        cli.out.result({ ...made, ...shown }, () => `${made.id}\n`);
        if (!secret) cli.out.note(`Signing key, shown only once: ${signatureSecret}`);
      }),
    );
}

/** A key of 32 random bytes, in the form of Standard Webhooks. */
export function newSigningKey(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}
