import type { Command } from 'commander';
import { addCreate } from './create.js';
import { addDelete } from './delete.js';
import { addList } from './list.js';
import { addUpdate } from './update.js';

export function addSecretCommands(secret: Command): void {
  addCreate(secret);
  addList(secret);
  addUpdate(secret);
  addDelete(secret);
}
