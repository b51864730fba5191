import type { EgressDestination } from '@svc/sdk';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatBytes } from '../../output/format.js';

export function addEgress(sandbox: Command): void {
  leaf(
    sandbox,
    'egress <id>',
    'show what left a sandbox whose network rules decide, and what they denied, by destination',
  )
    .option('--denied', 'only destinations that were denied')
    .action(
      act(async (cli, id: string, flags: { denied?: boolean }) => {
        const { signal } = cli;
        const handle = await cli.sandbox(id);
        const { destinations } = await handle.egress({ signal });
        cli.out.table(
          flags.denied ? destinations.filter(({ denied }) => denied > 0) : [...destinations],
          [
            { head: 'DESTINATION', value: destinationName },
            { head: 'ALLOWED', value: ({ allowed }) => allowed, align: 'right' },
            { head: 'DENIED', value: ({ denied }) => denied, align: 'right' },
            { head: 'FAILED', value: ({ failed }) => failed, align: 'right' },
            { head: 'SENT', value: ({ bytesSent }) => formatBytes(bytesSent), align: 'right' },
            { head: 'RECEIVED', value: ({ bytesReceived }) => formatBytes(bytesReceived), align: 'right' },
            { head: 'RULE', value: ({ rule }) => rule },
          ],
          'Nothing: no connection was decided by network rules yet.',
        );
      }),
    );
}

function destinationName({ host, address, port }: EgressDestination): string {
  // Packets that the network refused are counted by reason alone.
  const name = host ?? address ?? '(packets)';
  return port === 0 ? name : `${name}:${port}`;
}
