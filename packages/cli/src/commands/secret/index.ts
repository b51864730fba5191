import type { Command } from 'commander';
import { addDelete } from '../../cli/delete-named.js';
import { addGet } from './get.js';
import { addList } from './list.js';
import { addCreate, addUpdate } from './store.js';

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
