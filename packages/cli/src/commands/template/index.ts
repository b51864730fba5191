import type { Command } from 'commander';
import { addDelete } from '../../cli/delete-named.js';
import { addAlias } from './alias.js';
import { addBuild } from './build.js';
import { addBuilds, addInfo } from './info.js';
import { addInit } from './init.js';
import { addList } from './list.js';
import { addLogs } from './logs.js';
import { addPublish, addUnpublish } from './publish.js';
import { addTag } from './tag.js';

export function addTemplateCommands(template: Command): void {
  addInit(template);
  addBuild(template);
  addList(template);
  addInfo(template);
  addBuilds(template);
  addLogs(template);
  addTag(template);
  addAlias(template);
  addPublish(template);
  addUnpublish(template);
  addDelete(template, {
    usage: '<names...>',
    summary: 'delete templates, by name or id, with their builds',
    what: 'template',
    of: (client) => client.templates,
  });
}
