import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import { act } from '../../cli/leaf.js';
import { CliError, ExitWith } from '../../errors/cli-error.js';
import { clientOptions, proxyCommand } from './client-options.js';
import { hostKeyFiles, loadHostKey } from './host-key-file.js';
import { defaultPattern, hostOfSandbox } from './host-name.js';

interface SshFlags {
  user?: string;
}

export function addSshCommand(ssh: Command): void {
  ssh
    .argument('<id>', 'id or name of the sandbox')
    .argument('[words...]', 'options of ssh, then -- and a command')
    .passThroughOptions()
    .option('-u, --user <name>', 'user in the sandbox')
    .addHelpText(
      'after',
      `
Runs the ssh of this machine; a paused sandbox is resumed, and its time to live is extended while the connection is open.
  svc ssh ID                              a shell
  svc ssh ID -- npm test                  a command
  svc ssh ID -L 8080:localhost:3000 -N    a port of the sandbox on this machine
For rsync, scp, VS Code and other programs: svc ssh-config --write`,
    )
    .action(
      act(async (cli, id: string, words: string[], flags: SshFlags) => {
        const { options, command } = splitWords(words);
        const files = hostKeyFiles(cli.env);
        await loadHostKey(files);
        const { apiUrl, sandboxUrl } = cli.options;
        const settings = clientOptions(files, proxyCommand(defaultPattern)).flatMap(([name, value]) => [
          '-o',
          `${name}=${value}`,
        ]);
        const user = flags.user === undefined ? [] : ['-l', flags.user];
        const code = await runSsh(
          [...user, ...settings, ...options, '--', hostOfSandbox(id, defaultPattern), ...command],
          {
            ...cli.env,
            ...(apiUrl === undefined ? {} : { SVC_API_URL: apiUrl }),
            ...(sandboxUrl === undefined ? {} : { SVC_SANDBOX_URL: sandboxUrl }),
          },
        );
        if (code !== 0) throw new ExitWith(code);
      }),
    );
}

/** Runs ssh in the place of this program. @returns its exit code @throws {CliError} when there is none */
function runSsh(args: string[], env: Record<string, string | undefined>): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn('ssh', args, { stdio: 'inherit', env });
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'ENOENT'
          ? new CliError('There is no ssh program on this machine.', {
              code: 'no_ssh',
              hint: 'Install OpenSSH (Debian and Ubuntu: apt install openssh-client), or use `svc sandbox shell ID` and `svc sandbox exec ID`.',
            })
          : new CliError(`ssh cannot be started: ${error.message}.`, { cause: error }),
      ),
    );
    // Ctrl+C goes to the whole group of the terminal: ssh decides what it means.
    child.once('exit', (code, signal) => resolve(code ?? (signal === null ? 1 : 255)));
  });
}

/**
 * Separates options of ssh from a command: what stands before `--` are options. Without it they are what begins with a dash, and
 * a command otherwise. Pure.
 */
export function splitWords(words: readonly string[]): { options: string[]; command: string[] } {
  const dashes = words.indexOf('--');
  if (dashes !== -1) return { options: words.slice(0, dashes), command: words.slice(dashes + 1) };
  return words[0]?.startsWith('-')
    ? { options: [...words], command: [] }
    : { options: [], command: [...words] };
}
