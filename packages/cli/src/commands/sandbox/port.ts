import { once } from 'node:events';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { parseDuration } from '../../parse/duration.js';
import { portNumber, wholeNumber } from '../../parse/number.js';
import { forwardPort } from './forward-port.js';

interface PortFlags {
  check?: boolean;
  local?: number;
  expires?: number;
  path?: string;
}

export function addPort(sandbox: Command): void {
  addPortCommand(
    leaf(
      sandbox,
      'port',
      'print the address of a port of a sandbox, sign a link to it, or forward it to this machine',
    ),
  );
}

/** The same under either name: `svc sandbox port`, `svc port`. */
export function addPortCommand(port: Command): void {
  port
    .argument('<id>')
    .argument('<port>')
    .option('--check', 'send a request and print the status of the answer')
    .option(
      '--local <port>',
      'forward this port of this machine to it (HTTP and WebSockets); 0: any free port',
      wholeNumber('--local', 0, 65_535),
    )
    .option(
      '--expires <time>',
      'print a link that opens the private port until then, to everybody who has it: 90s, 1h',
      parseDuration,
    )
    .option('--path <path>', 'with --expires: what the link opens first')
    .action(
      act(async (cli, id: string, text: string, { check, local, expires, path }: PortFlags) => {
        if ([check, local, expires].filter((flag) => flag !== undefined).length > 1) {
          throw new UsageError('Use one of --check, --local and --expires.');
        }
        if (path !== undefined && expires === undefined) throw new UsageError('--path needs --expires.');
        const port = portNumber(text);
        const { signal } = cli;
        const handle = await cli.sandbox(id);
        if (local !== undefined) return forward(local);
        const url =
          expires === undefined
            ? handle.url(port)
            : await handle.url(port, { signed: { expiresInMs: expires, path } });
        const status = check ? await ask() : undefined;
        cli.out.result(
          { sandboxId: id, port, url, host: handle.host(port), ...(status === undefined ? {} : { status }) },
          () => (status === undefined ? `${url}\n` : `${url}  ${status}\n`),
        );

        async function ask(): Promise<number> {
          const response = await handle.fetch(port, '/', { signal });
          await response.body?.cancel();
          return response.status;
        }

        async function forward(localPort: number): Promise<void> {
          const forwarded = await forwardPort(handle.routeTo(port), localPort);
          try {
            cli.out.record({ sandboxId: id, port, url: forwarded.url }, () => forwarded.url);
            cli.out.note(
              `Forwards to port ${port} of ${id}, for programs on this machine only. Ctrl+C stops it.`,
            );
            if (!signal.aborted) await once(signal, 'abort');
          } finally {
            await forwarded.close();
          }
        }
      }),
    );
}
