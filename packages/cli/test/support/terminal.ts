import { type IPty, spawn } from '@lydell/node-pty';
import { eventually } from '#support/eventually';
import { cleanEnvironment, nodeArguments } from './run-cli.js';

export interface Terminal extends Disposable {
  pty: IPty;
  output(): string;
  type(text: string): void;
  /** Waits until the output after this call holds a text. */
  shows(text: string | RegExp, limitMs?: number): Promise<void>;
  exit: Promise<number>;
}

/** Runs a command line, or `bash -c` with `$SVC` standing for the program, in a terminal. */
export function openTerminal(
  args: readonly string[] | { shell: string },
  options: { env?: Record<string, string>; cols?: number; rows?: number } = {},
): Terminal {
  const { cols = 100, rows = 30 } = options;
  const env: Record<string, string> = { ...cleanEnvironment(options.env), TERM: 'xterm-256color' };
  const [file, ...rest] =
    'shell' in args
      ? [
          'bash',
          '-c',
          args.shell.replaceAll(
            '$SVC',
            [process.execPath, ...nodeArguments].map((word) => `'${word}'`).join(' '),
          ),
        ]
      : [process.execPath, ...nodeArguments, ...args];
  const pty = spawn(file!, rest, { cols, rows, env, cwd: env.HOME ?? '/' });
  let text = '';
  let looked = 0;
  pty.onData((data) => {
    text += data;
  });
  let ended = false;
  const exit = new Promise<number>((resolve) => {
    pty.onExit(({ exitCode }) => {
      ended = true;
      resolve(exitCode);
    });
  });
  return {
    pty,
    exit,
    output: () => text,
    type: (typed) => pty.write(typed),
    async shows(wanted, limitMs = 30_000) {
      const position = await eventually(
        `${wanted} on the terminal`,
        () => {
          const fresh = text.slice(looked);
          const found = typeof wanted === 'string' ? fresh.indexOf(wanted) : fresh.search(wanted);
          if (found === -1 && ended) throw new Error(`the program ended without showing ${wanted}: ${text}`);
          return found === -1 ? 0 : looked + found + 1;
        },
        limitMs,
      ).catch((error: Error) => {
        throw new Error(`${error.message}; it shows: ${text}`);
      });
      looked = position;
    },
    [Symbol.dispose]() {
      if (!ended) pty.kill('SIGKILL');
    },
  };
}
