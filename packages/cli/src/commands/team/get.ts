import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { showTeam } from './show-team.js';

export function addGet(team: Command): void {
  leaf(team, 'get <team>', 'show a team, its limits and what it takes of them')
    .alias('info')
    .action(
      act(async (cli, name: string) => {
        const { teams } = await cli.operator();
        const { signal } = cli;
        const [shown, { use }] = await Promise.all([
          teams.get(name, { signal }),
          teams.usage(name, { signal }),
        ]);
        showTeam(cli, shown, use);
      }),
    );
}
