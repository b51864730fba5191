import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { configFile, removeConfig } from '../../connection/config-file.js';

export function addLogout(auth: Command): void {
  leaf(auth, 'logout', 'remove the saved key').action(
    act(async (cli) => {
      const file = configFile(cli.env);
      const removed = await removeConfig(file);
      cli.out.result({ file, removed }, () => (removed ? `Removed ${file}.\n` : 'No key was kept.\n'));
      if (cli.env.SVC_API_KEY) cli.out.warn('SVC_API_KEY is still set in this terminal.');
    }),
  );
}
