import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LifecycleEvent, LifecycleEventType } from '@svc/sdk';
import type { Cli } from '../../cli/cli.js';
import { findConnection } from '../../connection/find-connection.js';
import { CliError } from '../../errors/cli-error.js';
import { formatPairs } from '../../output/format.js';
import type { Style } from '../../output/style.js';

interface ReceiveOptions {
  port: number;
  host: string;
  url?: string;
  events: LifecycleEventType[];
  signatureSecret: string;
}

const mostBytes = 1024 * 1024;

/** Receives events until Ctrl+C; the webhook exists for that long. */
export async function receiveEvents(cli: Cli, options: ReceiveOptions): Promise<void> {
  await refuseUnreachable(cli, options);
  const { signatureSecret } = options;
  const [{ webhooks }, client] = await Promise.all([import('@svc/sdk'), cli.client()]);
  const seen = new Set<string>();
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      const event = await webhooks.unwrap(await readBody(request), request.headers, signatureSecret);
      response.writeHead(204).end();
      // Deliveries come at least once.
      if (seen.has(event.id)) return;
      seen.add(event.id);
      cli.out.record(event, () => formatEvent(event, cli.out.style));
    } catch (error) {
      response.writeHead(400).end();
      cli.out.warn(`Refused a request: ${(error as Error).message}`);
    }
  };
  const receiver = createServer((request, response) => void receive(request, response));
  receiver.listen(options.port, options.host);
  await once(receiver, 'listening').catch((error: NodeJS.ErrnoException) => {
    const taken = error.code === 'EADDRINUSE';
    throw new CliError(
      taken ? `Port ${options.port} is taken.` : `${options.host} cannot be opened: ${error.message}.`,
      {
        hint: 'Choose another with --port; 0 picks any free port.',
      },
    );
  });
  try {
    const { port } = receiver.address() as AddressInfo;
    const url = options.url ?? `http://${options.host}:${port}/`;
    const { signal } = cli;
    const webhook = await client.webhooks.create(
      { name: 'svc webhook listen', url, events: options.events, signatureSecret },
      { signal },
    );
    try {
      cli.out.note(`Listening at ${url} (webhook ${webhook.id}). Ctrl+C ends it and removes the webhook.`);
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      // Not with the signal: that one has fired.
      await client.webhooks.delete(webhook.id, { requestTimeoutMs: 10_000 }).catch(() => {
        cli.out.warn(`The webhook is still there; remove it with: svc webhook delete ${webhook.id}`);
      });
    }
    cli.out.note(`\nRemoved the webhook. ${seen.size} ${seen.size === 1 ? 'event' : 'events'} received.`);
    throw signal.reason;
  } finally {
    receiver.close();
    receiver.closeAllConnections();
  }
}

/** A local server that does not deliver here would leave everybody waiting. */
async function refuseUnreachable(cli: Cli, { url }: ReceiveOptions): Promise<void> {
  if (url !== undefined) return;
  const { apiUrl, sandboxUrl } = cli.options;
  const { local, connection } = await findConnection(cli.env, {
    ...(apiUrl === undefined ? {} : { apiUrl }),
    ...(sandboxUrl === undefined ? {} : { sandboxUrl }),
  });
  const isLocal = local.running && connection.apiUrl === local.apiUrl;
  if (!isLocal || local.privateWebhooks) return;
  throw new CliError('The local server delivers no webhooks to addresses of this machine.', {
    code: 'private_webhooks',
    hint: 'Start it with: svc server up --allow-private-webhooks\nOr give --url, an address of a tunnel to this machine.',
  });
}

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    size += (part as Buffer).byteLength;
    if (size > mostBytes) throw new Error('its body is larger than 1 MiB');
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts);
}

/** One event on one line. Pure. */
export function formatEvent(event: LifecycleEvent, style: Style): string {
  const name = event.type.split('.').at(-1) ?? event.type;
  const color =
    { created: style.green, resumed: style.green, killed: style.red, paused: style.yellow }[name] ??
    style.cyan;
  const reason = event.type === 'sandbox.lifecycle.killed' && event.killReason ? `(${event.killReason})` : '';
  return [
    style.dim(event.timestamp.toISOString()),
    color(name.padEnd(12)),
    event.sandboxId,
    reason,
    formatPairs(event.metadata) ?? '',
  ]
    .filter((part) => part !== '')
    .join('  ');
}
