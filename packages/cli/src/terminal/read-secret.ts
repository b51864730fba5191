import type { Cli } from '../cli/cli.js';
import { CliError, Interrupted, UsageError } from '../errors/cli-error.js';
import type { Io } from '../output/io.js';

const mostBytes = 64 * 1024;

/**
 * Reads something confidential: from a pipe, or typed without being shown. Never from the command line, which other
 * users of the machine can read, unless it was insisted on.
 * @param given what stood on the command line, if it was insisted on
 */
export async function readSecret(cli: Cli, what: string, given: string | undefined): Promise<string> {
  if (given !== undefined) {
    cli.out.warn(
      'A value on the command line is seen by other users of this machine and kept in the shell history.',
    );
    return given;
  }
  const value = cli.io.stdin.isTTY ? await prompt(cli.io, what) : await readPiped(cli.io);
  if (value === '')
    throw new UsageError(
      `${what} is empty.`,
      'Type it when asked, or pipe it in: printf %s "$VALUE" | svc ...',
    );
  return value;
}

/** All of a pipe; one line end after it, which `echo` adds, is no part of the value. */
async function readPiped({ stdin }: Io): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of stdin as AsyncIterable<Uint8Array>) {
    size += part.byteLength;
    if (size > mostBytes) throw new CliError('The value is larger than 64 KiB.');
    parts.push(part);
  }
  return Buffer.concat(parts)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}

/** A typed line that is not shown. */
function prompt({ stdin, stderr }: Io, what: string): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    let line = '';
    const restore = () => stdin.setRawMode?.(false);
    const finish = (settle: () => void) => {
      stdin.removeListener('data', onKeys);
      process.removeListener('exit', restore);
      restore();
      stdin.pause();
      stderr.write('\n');
      settle();
    };
    const onKeys = (keys: Buffer) => {
      for (const key of keys.toString('utf8')) {
        if (key === '\r' || key === '\n' || key === '\u0004') return finish(() => resolve(line));
        if (key === '\u0003') return finish(() => reject(new Interrupted('SIGINT')));
        if (key === '\u007f' || key === '\b') line = [...line].slice(0, -1).join('');
        else if (key === '\u0015') line = '';
        else line += key;
      }
    };
    process.on('exit', restore);
    stdin.setRawMode?.(true);
    // Only now: what is typed or pasted at the sight of it must not be shown any more.
    stderr.write(`${what} (not shown): `);
    stdin.on('data', onKeys);
    stdin.resume();
  });
}
