import {
  Code,
  ConnectError,
  createRouterTransport,
  type ServiceImpl,
  type Transport,
} from '@connectrpc/connect';
import { Filesystem, Process, type ProcessSelector } from '@svc/daemon';

/** What a scripted command does. */
export interface ScriptedCommand {
  stdout?: string | readonly string[];
  stderr?: string | readonly string[];
  /** Default 0. */
  exitCode?: number;
  /** Break the connection after the output instead of ending; the process goes on, and re-attaching ends it as scripted. */
  cut?: boolean;
  /** Bytes of output that whoever attaches again after a cut is told to have lost. Default 0. */
  lostBytes?: number;
}

/** A command that was started. */
export interface SeenCommand {
  readonly pid: number;
  /** The command line, without the login shell around it. */
  readonly line: string;
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  /** What was written to its stdin. */
  stdin: string;
}

type Script = ScriptedCommand | ((line: string) => ScriptedCommand);

/**
 * The daemon of a sandbox in memory: answers commands from a script, over the real protocol. Give `transport` to
 * `new Client({ transport })`.
 */
export class TestDaemon {
  /** Every command, oldest first. */
  readonly commands: SeenCommand[] = [];
  readonly #scripts: { match: string | RegExp; script: Script }[] = [];
  readonly #running = new Map<number, { script: ScriptedCommand }>();
  #nextPid = 100;

  /**
   * Says what a command does: one that is this line, or that fits the pattern. A later one wins.
   * @example
   * daemon.onCommand('git status', { stdout: 'clean' });
   */
  onCommand(match: string | RegExp, script: Script): this {
    this.#scripts.unshift({ match, script });
    return this;
  }

  /** To be given to `new Client({ transport })`. */
  readonly transport = (): Transport => this.#transport;

  readonly #transport = createRouterTransport(({ service }) => {
    service(Process, this.#methods());
    service(Filesystem, {});
  });

  #methods(): Partial<ServiceImpl<typeof Process>> {
    const daemon = this;
    return {
      async *start({ process }) {
        const line = process?.args.at(-1) ?? process?.cmd ?? '';
        const { pid, script } = daemon.#start(line, process?.envs ?? {}, process?.cwd);
        yield* daemon.#events(script, pid);
      },
      async *connect({ process, from }) {
        const { pid, running } = daemon.#find(process);
        yield* daemon.#events(running.script, pid, from ?? 0n);
      },
      list: () => ({
        processes: [...this.#running.keys()].map((pid) => ({ pid, config: { cmd: '/bin/bash' } })),
      }),
      streamInput: async (messages) => {
        let seen: SeenCommand | undefined;
        for await (const { event } of messages) {
          if (event.case === 'start')
            seen = this.commands.find(({ pid }) => pid === pidOf(event.value.process));
          else if (event.case === 'data' && seen)
            seen.stdin += new TextDecoder().decode(event.value.input?.input.value);
        }
        return {};
      },
      closeStdin: () => ({}),
      sendSignal: ({ process }) => {
        this.#running.delete(this.#find(process).pid);
        return {};
      },
    };
  }

  #start(line: string, envs: Record<string, string>, cwd: string | undefined) {
    const found = this.#scripts.find(({ match }) =>
      typeof match === 'string' ? match === line : match.test(line),
    );
    const script = !found
      ? { stderr: `TestDaemon: nothing is scripted for: ${line}\n`, exitCode: 127 }
      : typeof found.script === 'function'
        ? found.script(line)
        : found.script;
    const pid = this.#nextPid++;
    this.commands.push({ pid, line, envs, cwd, stdin: '' });
    this.#running.set(pid, { script });
    return { pid, script };
  }

  #find(process: ProcessSelector | undefined) {
    const pid = pidOf(process);
    const running = pid === undefined ? undefined : this.#running.get(pid);
    if (pid === undefined || !running)
      throw new ConnectError(`process with pid ${pid} not found`, Code.NotFound);
    return { pid, running };
  }

  // `from`: present for a reader that comes back, which has got all the output.
  async *#events(script: ScriptedCommand, pid: number, from?: bigint) {
    const lost = BigInt(script.lostBytes ?? 0);
    const offset = from === undefined ? {} : { offset: from + lost };
    yield { event: { event: { case: 'start', value: { pid, ...offset } } } } as const;
    if (from === undefined) {
      for (const [name, pieces] of [
        ['stdout', script.stdout],
        ['stderr', script.stderr],
      ] as const) {
        for (const piece of typeof pieces === 'string' ? [pieces] : (pieces ?? [])) {
          const value = new TextEncoder().encode(piece);
          yield { event: { event: { case: 'data', value: { output: { case: name, value } } } } } as const;
        }
      }
      if (script.cut) throw new ConnectError('the connection broke, as scripted', Code.Unavailable);
    }
    const { exitCode = 0 } = script;
    this.#running.delete(pid);
    const status = `exit status ${exitCode}`;
    const error = exitCode === 0 ? {} : { error: status };
    yield { event: { event: { case: 'end', value: { exitCode, exited: true, status, ...error } } } } as const;
  }
}

function pidOf(process: ProcessSelector | undefined): number | undefined {
  return process?.selector.case === 'pid' ? process.selector.value : undefined;
}
