import type { Command } from 'commander';
import { addDrain } from './drain.js';
import { addForget } from './forget.js';
import { addList } from './list.js';
import { addRemove } from './remove.js';

export function addNodeCommands(node: Command): void {
  addList(node);
  addDrain(node);
  addRemove(node);
  addForget(node);
  node.addHelpText(
    'after',
    "\nFor who runs servers that share a PostgreSQL: these commands use the operator port of any of them with its operator token,\nfound by themselves on the server's machine, elsewhere from SVC_OPERATOR_URL and SVC_OPERATOR_TOKEN.",
  );
}
