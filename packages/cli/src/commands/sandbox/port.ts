import type { Command } from 'commander';
import { portNumber } from '../../parse/number.js';
import { act, leaf } from '../../program/leaf.js';

export function addPort(sandbox: Command): void {
  leaf(sandbox, 'port <id> <port>', 'print the address of a port of a sandbox')
    .option('--check', 'ask it: print the status that it answers')
    .action(
      act(async (cli, id: string, text: string, flags: { check?: boolean }) => {
        const port = portNumber(text);
        const client = await cli.client();
        const { signal } = cli;
        const handle = await client.sandboxes.get(id, { signal });
        const url = handle.url(port);
        const status = flags.check ? await ask() : undefined;
        cli.out.result(
          { sandboxId: id, port, url, host: handle.host(port), ...(status === undefined ? {} : { status }) },
          () => (status === undefined ? `${url}\n` : `${url}  ${status}\n`),
        );

        async function ask(): Promise<number> {
          const response = await handle.fetch(port, '/', { signal });
          await response.body?.cancel();
          return response.status;
        }
      }),
    );
}
