import type { CommandCall } from './call.js';

/** A piece of output, and when it comes. */
export interface ScriptedOutput {
  stdout?: string | Uint8Array;
  stderr?: string | Uint8Array;
  /** Waits so long on the clock before it, ms. Default 0. */
  afterMs?: number;
}

/** The acts of a scripted command, in this order: `stdout`, `stderr`, `output`, then it ends. */
export interface ScriptedCommand {
  /** Each element is a piece of its own. */
  stdout?: string | Uint8Array | readonly (string | Uint8Array)[];
  stderr?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** Both kinds in one order, with their moments. */
  output?: readonly ScriptedOutput[];
  /** Default 0. */
  exitCode?: number;
  /** Waits so long on the clock before it ends, ms. Default 0. */
  afterMs?: number;
}

/** A command that runs: what a scripted program works with. */
export interface TestProgram extends CommandCall {
  readonly pid: number;
  /** The match of the regular expression, undefined for other patterns. */
  readonly match: RegExpMatchArray | undefined;
  /** Prints; a program in a terminal prints there. */
  stdout(data: string | Uint8Array): void;
  stderr(data: string | Uint8Array): void;
  /** Waits on the clock of the service. */
  sleep(ms: number): Promise<void>;
  /** Input as it comes, until it is closed. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** The next line of input without its end; undefined after the last one. */
  readLine(): Promise<string | undefined>;
  /** All that is left of the input, once it is closed. */
  readAll(): Promise<string>;
  /** Fires when the program is killed. */
  readonly signal: AbortSignal;
}

/** The result of a program: its exit status, a scripted end, or nothing for 0. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function without `return` is a program, too
export type ProgramResult = number | ScriptedCommand | undefined | void;
export type Script = ScriptedCommand | ((program: TestProgram) => ProgramResult | Promise<ProgramResult>);

/** A command line, a pattern that it fits, or a test of the call. */
export type CommandMatch = string | RegExp | ((call: CommandCall) => boolean);

/** A script that was found for a call. */
export interface FoundScript {
  readonly script: Script;
  readonly match: RegExpMatchArray | undefined;
}

/** Which script belongs to which command. Later ones win. */
export class ScriptList {
  readonly #entries: { match: CommandMatch; script: Script }[] = [];

  add(match: CommandMatch, script: Script): void {
    this.#entries.unshift({ match, script });
  }

  find(call: CommandCall): FoundScript | undefined {
    for (const { match, script } of this.#entries) {
      if (typeof match === 'string' ? match === call.line : typeof match === 'function' && match(call))
        return { script, match: undefined };
      if (match instanceof RegExp) {
        match.lastIndex = 0;
        const found = call.line.match(match);
        if (found) return { script, match: found };
      }
    }
    return undefined;
  }

  /** Returns the output of a command without a script. */
  explainMissing({ line }: CommandCall): string {
    const known = this.#entries.map(({ match }) =>
      typeof match === 'function'
        ? 'a function'
        : typeof match === 'string'
          ? JSON.stringify(match)
          : String(match),
    );
    const list =
      known.length === 0 ? 'Nothing is scripted yet.' : `Scripted are: ${known.slice(0, 10).join(', ')}.`;
    return `TestService: no script fits the command ${JSON.stringify(line)}. ${list} Add one: service.onCommand(${JSON.stringify(line)}, { stdout: '...' }).\n`;
  }
}

/** The command line of a process: what the login shell of the SDK runs, else program and arguments in a row. */
export function lineOf(cmd: string, args: readonly string[]): string {
  const [first, second, line] = args;
  if (args.length === 3 && cmd.endsWith('sh') && first === '-l' && second === '-c' && line !== undefined)
    return line;
  return [cmd, ...args].join(' ');
}
