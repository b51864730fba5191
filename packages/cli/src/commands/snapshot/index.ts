import type { Command } from 'commander';
import { addCreate } from './create.js';
import { addDelete } from './delete.js';
import { addList } from './list.js';

export function addSnapshotCommands(snapshot: Command): void {
  addCreate(snapshot);
  addList(snapshot);
  addDelete(snapshot);
}
