import type { Command } from 'commander';
import { addLogin } from './login.js';
import { addLogout } from './logout.js';
import { addStatus } from './status.js';

export function addAuthCommands(auth: Command): void {
  addLogin(auth);
  addStatus(auth);
  addLogout(auth);
}
