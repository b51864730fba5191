import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { addTeamFlags, type TeamFlags, toTeamSettings } from './limit-flags.js';

export function addCreate(team: Command): void {
  addTeamFlags(leaf(team, 'create <slug>', 'create a team; `svc key create --team` gives it a key')).action(
    act(async (cli, slug: string, flags: TeamFlags) => {
      const { teams } = await cli.operator();
      const made = await teams.create({ slug, ...toTeamSettings(flags) }, { signal: cli.signal });
      cli.out.result(made, () => `${made.slug}  ${made.teamId}\n`);
      cli.out.note(`Next: svc key create NAME --team ${made.slug}`);
    }),
  );
}
