import type { Command } from 'commander';
import { addChmod } from './chmod.js';
import { addCreate } from './create.js';
import { addDelete } from './delete.js';
import { addGet } from './get.js';
import { addInfo } from './info.js';
import { addList } from './list.js';
import { addLs } from './ls.js';
import { addMkdir } from './mkdir.js';
import { addPut } from './put.js';
import { addRm } from './rm.js';

export function addVolumeCommands(volume: Command): void {
  addCreate(volume);
  addList(volume);
  addInfo(volume);
  addLs(volume);
  addPut(volume);
  addGet(volume);
  addMkdir(volume);
  addRm(volume);
  addChmod(volume);
  addDelete(volume);
}
