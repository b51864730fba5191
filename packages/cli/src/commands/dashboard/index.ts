import type { Command } from 'commander';
import { act } from '../../cli/leaf.js';
import { browserCommand, openInBrowser } from './open-browser.js';

export function addDashboardCommand(dashboard: Command): void {
  dashboard
    .option('--no-open', 'print the link only')
    .action(
      act(async (cli, { open }: { open: boolean }) => {
        const operator = await cli.operator();
        const { url, expiresAt } = await operator.createDashboardLink({ signal: cli.signal });
        cli.out.result({ url, expiresAt }, () => `${url}\n`);
        cli.out.note('The link signs in once, within a minute. Whoever has it then acts as the operator.');
        const command = open && !cli.out.json ? browserCommand(process.platform, cli.env) : undefined;
        if (command !== undefined && !(await openInBrowser(command, url)))
          cli.out.note(`${command} could not be started: open the link yourself.`);
      }),
    )
    .addHelpText(
      'after',
      '\nFor who runs the server: it is found by itself on its machine, elsewhere from SVC_OPERATOR_URL and SVC_OPERATOR_TOKEN.\nOver SSH, forward the operator port first: ssh -L 3003:localhost:3003 SERVER.',
    );
}
