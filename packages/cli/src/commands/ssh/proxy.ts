import { Socket } from 'node:net';
import type { Client, Sandbox } from '@svc/sdk';
import type { Command } from 'commander';
import { act } from '../../cli/leaf.js';
import { CliError } from '../../errors/cli-error.js';
import { keepAlive } from '../sandbox/lifecycle.js';
import { defaultPattern, sandboxOfHost } from './host-name.js';

interface ProxyFlags {
  hostPattern: string;
}

export function addSshProxyCommand(proxy: Command): void {
  proxy
    .argument('<id>', 'id or name of the sandbox, or a host name that stands for it')
    .option(
      '--host-pattern <pattern>',
      'host names that stand for what is in the place of their star',
      defaultPattern,
    )
    .addHelpText(
      'after',
      `
For SSH clients, not for people: it speaks the SSH protocol on standard input and output.
  ssh -o ProxyCommand="svc ssh-proxy %n" ID.svc
\`svc ssh-config --write\` sets up ssh, rsync and editors to use it.`,
    )
    .action(
      act(async (cli, host: string, { hostPattern }: ProxyFlags) => {
        if (cli.io.stdin.isTTY)
          throw new CliError('This speaks the SSH protocol with an SSH client, not with a terminal.', {
            code: 'usage',
            exitCode: 2,
            hint: `For a shell: svc ssh ${host}`,
          });
        const [client, { serveSandbox }, { hostKeyFiles, loadHostKey }, { cliVersion }] = await Promise.all([
          cli.client(),
          import('@svc/ssh'),
          import('./host-key-file.js'),
          import('../../cli/version.js'),
        ]);
        const [sandbox, hostKey] = await Promise.all([
          findSandbox(client, sandboxOfHost(host, hostPattern), cli.signal),
          loadHostKey(hostKeyFiles(cli.env)),
        ]);
        const stopKeeping = keepAlive(sandbox);
        try {
          await serveSandbox({
            sandbox,
            hostKey,
            version: cliVersion,
            input: cli.io.stdin,
            // Not process.stdout: on a pipe that one stops everything else while the reader is behind.
            output: new Socket({ fd: 1, readable: false, writable: true }),
            signal: cli.signal,
            onNote: (text) => cli.out.note(text),
          });
        } finally {
          stopKeeping();
        }
      }),
    );
}

/** Life of the sandbox that a connection begins with, ms; it is extended while the connection is open. */
const lifeMs = 120_000;

/**
 * A sandbox by its id or its name (`metadata.name`), resumed when it is paused.
 * @throws {CliError} when there is none, or several of that name
 */
async function findSandbox(client: Client, idOrName: string, signal: AbortSignal): Promise<Sandbox> {
  const { InvalidRequestError, NotFoundError } = await import('@svc/sdk');
  const options = { timeoutMs: lifeMs, signal };
  try {
    return await client.sandboxes.connect(idOrName, options);
  } catch (error) {
    // A name is often no possible id.
    if (!NotFoundError.is(error) && !InvalidRequestError.is(error)) throw error;
  }
  const { items } = await client.sandboxes.list({ metadata: { name: idOrName }, limit: 2, signal });
  const [found] = items;
  if (found === undefined)
    throw new CliError(`There is no sandbox with the id or name ${JSON.stringify(idOrName)}.`, {
      code: 'not_found',
      hint: '`svc sandbox list` shows those that run or are paused.',
    });
  if (items.length > 1)
    throw new CliError(`Several sandboxes have the name ${JSON.stringify(idOrName)}.`, {
      code: 'not_unique',
      hint: 'Use the id: `svc sandbox list` shows it.',
    });
  return client.sandboxes.connect(found.sandboxId, options);
}
