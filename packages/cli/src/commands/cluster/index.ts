import type { Command } from 'commander';
import { addDown } from './down.js';
import { addJoin } from './join.js';
import { addStatus } from './status.js';
import { addUp } from './up.js';

export function addClusterCommands(cluster: Command): void {
  addUp(cluster);
  addJoin(cluster);
  addStatus(cluster);
  addDown(cluster);
}
