import type { Command } from 'commander';
import { addCp } from './cp.js';
import { addCreate } from './create.js';
import { addAttach, addExec, addShell } from './exec.js';
import { addFork, addKill, addPause, addRefresh, addResume, addTimeout } from './lifecycle.js';
import { addEgress, addNetwork } from './network.js';
import { addPort } from './port.js';
import { addRunCode } from './run-code.js';
import { addInfo, addList, addLogs, addMetrics, addPs } from './show.js';

export function addSandboxCommands(sandbox: Command): void {
  addCreate(sandbox);
  addList(sandbox);
  addInfo(sandbox);
  addExec(sandbox);
  addRunCode(sandbox);
  addShell(sandbox);
  addPs(sandbox);
  addAttach(sandbox);
  addCp(sandbox);
  addLogs(sandbox);
  addMetrics(sandbox);
  addPort(sandbox);
  addTimeout(sandbox);
  addRefresh(sandbox);
  addNetwork(sandbox);
  addEgress(sandbox);
  addPause(sandbox);
  addResume(sandbox);
  addFork(sandbox);
  addKill(sandbox);
}
