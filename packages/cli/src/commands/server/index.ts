import type { Command } from 'commander';
import { addBackup } from './backup.js';
import { addDoctor } from './doctor.js';
import { addDown } from './down.js';
import { addRestore } from './restore.js';
import { addStatus } from './status.js';
import { addUninstall } from './uninstall.js';
import { addUp } from './up.js';
import { addUpgrade } from './upgrade.js';
import { addVersion } from './version.js';

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
