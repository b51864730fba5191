import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatAge } from '../../output/format.js';
import { standingOf } from './show-team.js';

export function addList(team: Command): void {
  leaf(team, 'list', 'list the teams of the server')
    .alias('ls')
    .action(
      act(async (cli) => {
        const { teams } = await cli.operator();
        const items = await teams.list({ signal: cli.signal }).toArray();
        const now = Date.now();
        cli.out.table(
          items,
          [
            { head: 'SLUG', value: ({ slug }) => slug },
            { head: 'NAME', value: ({ name }) => name },
            { head: 'ID', value: ({ teamId }) => teamId },
            { head: 'CREATED', value: ({ createdAt }) => formatAge(createdAt, now) },
            { head: 'STANDING', value: standingOf },
          ],
          'No teams.',
        );
      }),
    );
}
