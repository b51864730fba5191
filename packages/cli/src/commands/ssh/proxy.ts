import { Socket } from 'node:net';
import type { Command } from 'commander';
import { act } from '../../cli/leaf.js';
import { CliError } from '../../errors/cli-error.js';
import { keepAlive } from '../sandbox/keep-alive.js';
import { findSandbox } from './find-sandbox.js';
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
