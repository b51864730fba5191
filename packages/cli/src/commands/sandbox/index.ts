import type { Command } from 'commander';
import { addCp } from './cp.js';
import { addCreate } from './create.js';
import { addExec } from './exec.js';
import { addFork } from './fork.js';
import { addInfo } from './info.js';
import { addKill } from './kill.js';
import { addList } from './list.js';
import { addLogs } from './logs.js';
import { addMetrics } from './metrics.js';
import { addNetwork } from './network.js';
import { addPause } from './pause.js';
import { addPort } from './port.js';
import { addRefresh } from './refresh.js';
import { addResume } from './resume.js';
import { addShell } from './shell.js';
import { addTimeout } from './timeout.js';

export function addSandboxCommands(sandbox: Command): void {
  addCreate(sandbox);
  addList(sandbox);
  addInfo(sandbox);
  addExec(sandbox);
  addShell(sandbox);
  addCp(sandbox);
  addLogs(sandbox);
  addMetrics(sandbox);
  addPort(sandbox);
  addTimeout(sandbox);
  addRefresh(sandbox);
  addNetwork(sandbox);
  addPause(sandbox);
  addResume(sandbox);
  addFork(sandbox);
  addKill(sandbox);
}
