import type { Command } from 'commander';
import { addDelete } from '../../cli/delete-named.js';
import { addCreate } from './create.js';
import { addList } from './list.js';

export function addSnapshotCommands(snapshot: Command): void {
  addCreate(snapshot);
  addList(snapshot);
  addDelete(snapshot, {
    usage: '<snapshots...>',
    summary: 'delete snapshots that no sandbox uses',
    what: 'snapshot',
    of: (client) => client.snapshots,
  });
}
