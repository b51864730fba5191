import type { OperatedTeam, OperatorClient } from '@svc/sdk/operator';
import type { Command } from 'commander';
import type { Cli } from '../../cli/cli.js';
import { act, leaf } from '../../cli/leaf.js';
import { standingOf } from './show-team.js';

/** `ban`, `unban`, `block`, `unblock`. */
export function addStandingCommands(team: Command): void {
  leaf(team, 'ban <team>', 'refuse every request of a team; its sandboxes keep running').action(
    act((cli, name: string) =>
      change(cli, { destroys: true }, ({ teams }, options) => teams.ban(name, options)),
    ),
  );
  leaf(team, 'unban <team>', 'end a ban').action(
    act((cli, name: string) => change(cli, {}, ({ teams }, options) => teams.unban(name, options))),
  );
  leaf(team, 'block <team>', 'let a team only read and delete; its sandboxes keep running')
    .option('--reason <text>', 'reason that the team is shown')
    .action(
      act((cli, name: string, { reason }: { reason?: string }) =>
        change(cli, { destroys: true }, ({ teams }, options) => teams.block(name, { ...options, reason })),
      ),
    );
  leaf(team, 'unblock <team>', 'end a block').action(
    act((cli, name: string) => change(cli, {}, ({ teams }, options) => teams.unblock(name, options))),
  );
}

async function change(
  cli: Cli,
  use: { destroys?: boolean },
  send: (operator: OperatorClient, options: { signal: AbortSignal }) => Promise<OperatedTeam>,
): Promise<void> {
  const changed = await send(await cli.operator(use), { signal: cli.signal });
  cli.out.result(changed, () => `${changed.slug} is ${standingOf(changed)}\n`);
}
