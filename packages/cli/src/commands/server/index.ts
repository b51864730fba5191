import type { Command } from 'commander';
import { addBackup, addRestore } from './backup.js';
import { addDoctor } from './doctor.js';
import { addDown, addUninstall } from './down.js';
import { addStatus, addVersion } from './status.js';
import { addUp } from './up.js';
import { addUpgrade } from './upgrade.js';

export function addServerCommands(server: Command): void {
  addUp(server);
  addStatus(server);
  addDoctor(server);
  addDown(server);
  addBackup(server);
  addRestore(server);
  addUpgrade(server);
  addUninstall(server);
  addVersion(server);
}
