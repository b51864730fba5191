import type { Command } from 'commander';
import { addCreate } from './create.js';
import { addDelete } from './delete.js';
import { addList } from './list.js';
import { addRotate } from './rotate.js';

export function addKeyCommands(key: Command): void {
  addCreate(key);
  addList(key);
  addRotate(key);
  addDelete(key);
}
