import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { showTeam } from './show-team.js';

export function addGet(team: Command): void {
  leaf(team, 'get <team>', 'show a team and its limits')
    .alias('info')
    .action(
      act(async (cli, name: string) => {
        const { teams } = await cli.operator();
        showTeam(cli, await teams.get(name, { signal: cli.signal }));
      }),
    );
}
