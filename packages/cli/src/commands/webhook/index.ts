import { randomBytes } from 'node:crypto';
import type { Delivery, DeliveryCounts, LifecycleEventType } from '@svc/sdk';
import { type Command, Option } from 'commander';
import { addDelete } from '../../cli/delete-named.js';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { formatAge } from '../../output/format.js';
import { wholeNumber } from '../../parse/number.js';
import { parseTime } from '../../parse/time.js';
import { readSecret } from '../../terminal/read-secret.js';

export function addWebhookCommands(webhook: Command): void {
  addCreate(webhook);
  addList(webhook);
  addGet(webhook);
  addUpdate(webhook);
  addDelete(webhook, {
    usage: '<ids...>',
    summary: 'delete webhooks',
    what: 'webhook',
    of: (client) => client.webhooks,
  });
  addDeliveries(webhook);
  addRedeliver(webhook);
  addStats(webhook);
  addListen(webhook);
}

interface CreateFlags {
  name?: string;
  events?: LifecycleEventType[];
  secret?: boolean;
  disabled?: boolean;
}

function addCreate(webhook: Command): void {
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

function addList(webhook: Command): void {
  leaf(webhook, 'list', 'list webhooks')
    .alias('ls')
    .option('-q, --quiet', 'print only the ids')
    .action(
      act(async (cli, { quiet }: { quiet?: boolean }) => {
        const client = await cli.client();
        const items = await client.webhooks.list({ signal: cli.signal });
        const now = Date.now();
        cli.out.table(
          items,
          [
            { head: 'ID', value: ({ id }) => id },
            { head: 'NAME', value: ({ name }) => name },
            { head: 'STATE', value: ({ enabled }) => (enabled ? 'enabled' : 'disabled') },
            { head: 'URL', value: ({ url }) => url },
            {
              head: 'EVENTS',
              value: ({ events }) =>
                events.length === allEvents.length
                  ? 'all'
                  : events.map((event) => event.split('.').at(-1)).join(','),
            },
            { head: 'CREATED', value: ({ createdAt }) => formatAge(createdAt, now) },
          ],
          'No webhooks. `svc webhook create URL` makes one, `svc webhook listen` tries it here.',
          quiet ? ({ id }) => id : undefined,
        );
      }),
    );
}

function addGet(webhook: Command): void {
  leaf(webhook, 'get <id>', 'show a webhook').action(
    act(async (cli, id: string) => {
      const client = await cli.client();
      const found = await client.webhooks.get(id, { signal: cli.signal });
      cli.out.fields(found, {
        Webhook: found.id,
        Name: found.name,
        URL: found.url,
        State: found.enabled ? 'enabled' : 'disabled',
        Events: found.events.join('\n'),
        Created: formatAge(found.createdAt, Date.now()),
      });
    }),
  );
}

interface UpdateFlags {
  name?: string;
  url?: string;
  events?: LifecycleEventType[];
  secret?: boolean;
  enable?: boolean;
  disable?: boolean;
}

function addUpdate(webhook: Command): void {
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

type Row = DeliveryCounts & { readonly start: Date; readonly end: Date };

function addStats(webhook: Command): void {
  leaf(webhook, 'stats <id>', 'count the deliveries of a webhook over time')
    .option('--since <time>', 'from this time on: 24h, 2026-01-31T12:00:00Z', (text) => parseTime(text))
    .option('--until <time>', 'up to this time', (text) => parseTime(text))
    .action(
      act(async (cli, id: string, flags: { since?: Date; until?: Date }) => {
        const client = await cli.client();
        const { since: start, until: end } = flags;
        const stats = await client.webhooks.stats(id, { start, end, signal: cli.signal });
        if (cli.out.json) return cli.out.line(JSON.stringify(stats, null, 2));
        const rows: Row[] = [
          ...stats.buckets.filter(({ deliveries, attempts }) => deliveries + attempts > 0),
          { ...stats.totals, start: stats.start, end: stats.end },
        ];
        cli.out.table(
          rows,
          [
            { head: 'FROM', value: (row) => row.start.toISOString() },
            { head: 'TO', value: (row) => row.end.toISOString() },
            { head: 'EVENTS', value: ({ deliveries }) => deliveries, align: 'right' },
            { head: 'DELIVERED', value: ({ succeeded }) => succeeded, align: 'right' },
            { head: 'FAILED', value: ({ failed }) => failed, align: 'right' },
            { head: 'REQUESTS', value: ({ attempts }) => attempts, align: 'right' },
          ],
          '',
        );
        cli.out.note('The last line is the total.');
      }),
    );
}

interface DeliveryFlags {
  status?: 'success' | 'failed';
  limit: number;
  quiet?: boolean;
}

function addDeliveries(webhook: Command): void {
  leaf(webhook, 'deliveries <id>', 'list the deliveries of a webhook, newest first')
    .addOption(new Option('--status <status>', 'only with this status').choices(['success', 'failed']))
    .option('-n, --limit <count>', 'at most this many', wholeNumber('--limit', 1, 10_000), 25)
    .option('-q, --quiet', 'print only the ids of the events')
    .action(
      act(async (cli, id: string, { status, limit, quiet }: DeliveryFlags) => {
        const client = await cli.client();
        const query = { status, limit: Math.min(limit, 100), signal: cli.signal };
        const items = await client.webhooks.deliveries(id, query).toArray({ limit });
        const now = Date.now();
        cli.out.table(
          items,
          [
            { head: 'EVENT ID', value: ({ eventId }) => eventId },
            { head: 'EVENT', value: ({ eventType }) => eventType.split('.').at(-1) },
            { head: 'SANDBOX', value: ({ sandboxId }) => sandboxId },
            { head: 'SENT', value: (item) => formatAge(last(item)?.timestamp, now) },
            { head: 'TRIES', value: ({ attempts }) => attempts.length, align: 'right' },
            { head: 'OUTCOME', value: (item) => outcomeOf(item) },
          ],
          'Nothing was sent yet.',
          quiet ? ({ eventId }) => eventId : undefined,
        );
      }),
    );
}

function last({ attempts }: Delivery): Delivery['attempts'][number] | undefined {
  return attempts.at(-1);
}

/** Returns the outcome of the last attempt, in a few words, and if another one will be made. */
function outcomeOf(delivery: Delivery): string {
  const attempt = last(delivery);
  if (attempt === undefined) return 'waiting';
  const outcome = outcomeOfAttempt(attempt);
  return delivery.status === 'pending' ? `waiting, last ${outcome}` : outcome;
}

function outcomeOfAttempt(attempt: Delivery['attempts'][number]): string {
  if (attempt.status === 'success') return `delivered (${attempt.responseStatus})`;
  const reason = attempt.errorMessage ?? attempt.errorClass ?? '';
  const status = attempt.responseStatus === undefined ? '' : ` ${attempt.responseStatus}`;
  return `failed${status}${reason === '' ? '' : `: ${reason}`}`;
}

interface RedeliverFlags {
  failed?: boolean;
  limit: number;
}

function addRedeliver(webhook: Command): void {
  leaf(webhook, 'redeliver <id> [events...]', 'deliver events to a webhook again')
    .option('--failed', 'deliver those again that failed, oldest first')
    .option('-n, --limit <count>', 'with --failed, at most this many', wholeNumber('--limit', 1, 10_000), 100)
    .action(
      act(async (cli, id: string, given: string[], { failed, limit }: RedeliverFlags) => {
        if ((given.length === 0) !== (failed === true))
          throw new UsageError(
            'Give the ids of the events to deliver again, or --failed.',
            `\`svc webhook deliveries ${id}\` shows their ids.`,
          );
        const { webhooks } = await cli.client();
        const { signal } = cli;
        const query = { status: 'failed', order: 'asc', limit: Math.min(limit, 100), signal } as const;
        const events = failed
          ? (await webhooks.deliveries(id, query).toArray({ limit })).map(({ eventId }) => eventId)
          : [...new Set(given)];
        const results: Delivery[] = [];
        // One after another, so that they go out in their order. The client waits where the service says that it is too fast.
        for (const eventId of events) {
          results.push(await webhooks.redeliver(id, eventId, { signal }));
          if (!cli.out.json) cli.out.line(`Delivering ${eventId} again`);
        }
        if (cli.out.json) cli.out.line(JSON.stringify(results, null, 2));
        else if (events.length === 0) cli.out.note('No delivery has failed.');
        else cli.out.note(`\`svc webhook deliveries ${id}\` shows what becomes of them.`);
      }),
    );
}

interface ListenFlags {
  port: number;
  host: string;
  url?: string;
  events?: LifecycleEventType[];
}

function addListen(webhook: Command): void {
  leaf(webhook, 'listen', 'receive events here and print the verified ones, until Ctrl+C')
    .option('-p, --port <port>', 'port to listen on; 0: any free port', wholeNumber('The port', 0, 65_535), 0)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--url <url>', 'address under which the service reaches this machine, for example a tunnel')
    .option('--events <names>', 'created, killed, paused, ... (default: all)', collectEvents)
    .addHelpText(
      'after',
      `
Makes a webhook for as long as it listens. A server on this machine delivers here when it was started with
--allow-private-webhooks; a hosted service needs --url.`,
    )
    .action(
      act(async (cli, flags: ListenFlags) => {
        const { receiveEvents } = await import('./receive-events.js');
        await receiveEvents(cli, {
          ...flags,
          events: flags.events ?? allEvents,
          signatureSecret: newSigningKey(),
        });
      }),
    );
}

const prefix = 'sandbox.lifecycle.';

/** Every event that there is, by its last word. */
const eventNames = ['created', 'killed', 'paused', 'resumed', 'updated', 'checkpointed'] as const;

const allEvents = eventNames.map((name) => `${prefix}${name}` as LifecycleEventType);

/** Reads names of events, `created` or `sandbox.lifecycle.created`; commas separate several. Pure. */
export function collectEvents(text: string, soFar: LifecycleEventType[] = []): LifecycleEventType[] {
  const names = text.split(',').map((name) => name.trim().replace(prefix, ''));
  for (const name of names) {
    if (!(eventNames as readonly string[]).includes(name))
      throw new UsageError(`There is no event "${name}".`, `Events: ${eventNames.join(', ')}.`);
  }
  return [...new Set([...soFar, ...names.map((name) => `${prefix}${name}` as LifecycleEventType)])];
}
