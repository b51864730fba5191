import type { Command } from 'commander';
import { addCreate } from './create.js';
import { addDelete } from './delete.js';
import { addGet } from './get.js';
import { addList } from './list.js';
import { addUpdate } from './update.js';

export function addSecretCommands(secret: Command): void {
  addCreate(secret);
  addList(secret);
  addGet(secret);
  addUpdate(secret);
  addDelete(secret);
}
