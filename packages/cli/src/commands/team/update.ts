import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { addTeamFlags, type TeamFlags, toTeamSettings } from './limit-flags.js';
import { showTeam } from './show-team.js';

export function addUpdate(team: Command): void {
  const command = leaf(
    team,
    'update <team>',
    "change what a team may use; `default` goes back to the server's",
  );
  addTeamFlags(command).action(
    act(async (cli, name: string, flags: TeamFlags) => {
      const change = toTeamSettings(flags);
      if (Object.keys(change).length === 0)
        throw new UsageError('No change is given.', '`svc team update --help` lists the options.');
      const { teams } = await cli.operator();
      showTeam(cli, await teams.update(name, change, { signal: cli.signal }));
    }),
  );
}
