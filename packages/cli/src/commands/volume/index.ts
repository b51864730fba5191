import type { Command } from 'commander';
import { addCreate } from './create.js';
import { addDelete } from './delete.js';
import { addGet } from './get.js';
import { addInfo } from './info.js';
import { addList } from './list.js';
import { addLs } from './ls.js';
import { addPut } from './put.js';

export function addVolumeCommands(volume: Command): void {
  addCreate(volume);
  addList(volume);
  addInfo(volume);
  addLs(volume);
  addPut(volume);
  addGet(volume);
  addDelete(volume);
}
