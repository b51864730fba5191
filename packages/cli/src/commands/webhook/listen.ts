import type { LifecycleEventType } from '@svc/sdk';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { wholeNumber } from '../../parse/number.js';
import { allEvents, collectEvents } from './event-types.js';

interface ListenFlags {
  port: number;
  host: string;
  url?: string;
  events?: LifecycleEventType[];
}

export function addListen(webhook: Command): void {
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
        await receiveEvents(cli, { ...flags, events: flags.events ?? allEvents });
      }),
    );
}
