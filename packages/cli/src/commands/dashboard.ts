import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import { act } from '../cli/leaf.js';

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
      '\nFor operators: the server is found by itself on its machine, on others by SVC_OPERATOR_URL and SVC_OPERATOR_TOKEN.\nOver SSH, forward the operator port first: ssh -L 3003:localhost:3003 SERVER.',
    );
}

/** Returns the program that opens a page on this machine; undefined where there is no screen to show it on. */
function browserCommand(
  platform: NodeJS.Platform,
  env: Record<string, string | undefined>,
): string | undefined {
  if (platform === 'darwin') return 'open';
  const screen = Boolean(env.DISPLAY) || Boolean(env.WAYLAND_DISPLAY);
  return platform === 'linux' && screen ? 'xdg-open' : undefined;
}

/** Starts the browser and leaves it alone. False when that was not possible. */
function openInBrowser(command: string, url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, [url], { detached: true, stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
