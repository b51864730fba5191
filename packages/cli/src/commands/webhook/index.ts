import type { Command } from 'commander';
import { addDelete } from '../../cli/delete-named.js';
import { addCreate } from './create.js';
import { addDeliveries } from './deliveries.js';
import { addGet } from './get.js';
import { addList } from './list.js';
import { addListen } from './listen.js';
import { addRedeliver } from './redeliver.js';
import { addStats } from './stats.js';
import { addUpdate } from './update.js';

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
