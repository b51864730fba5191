import type { Command } from 'commander';
import { addBuild } from './build.js';
import { addDelete } from './delete.js';
import { addInit } from './init.js';
import { addList } from './list.js';
import { addTag } from './tag.js';

export function addTemplateCommands(template: Command): void {
  addInit(template);
  addBuild(template);
  addList(template);
  addTag(template);
  addDelete(template);
}
