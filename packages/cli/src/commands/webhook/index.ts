import type { Command } from 'commander';
import { addCreate } from './create.js';
import { addDelete } from './delete.js';
import { addDeliveries } from './deliveries.js';
import { addList } from './list.js';
import { addListen } from './listen.js';
import { addUpdate } from './update.js';

export function addWebhookCommands(webhook: Command): void {
  addCreate(webhook);
  addList(webhook);
  addUpdate(webhook);
  addDelete(webhook);
  addDeliveries(webhook);
  addListen(webhook);
}
