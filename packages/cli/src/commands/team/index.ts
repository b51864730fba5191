import type { Command } from 'commander';
import { addCreate } from './create.js';
import { addGet } from './get.js';
import { addList } from './list.js';
import { addStandingCommands } from './standing.js';
import { addUpdate } from './update.js';
import { addUsage } from './usage.js';

export function addTeamCommands(team: Command): void {
  addCreate(team);
  addList(team);
  addGet(team);
  addUpdate(team);
  addUsage(team);
  addStandingCommands(team);
  team.addHelpText(
    'after',
    "\nFor who runs the server: these commands use its operator port with its operator token, found by themselves on the\nserver's machine, elsewhere from SVC_OPERATOR_URL and SVC_OPERATOR_TOKEN. A team is named by its slug or its id.",
  );
}
