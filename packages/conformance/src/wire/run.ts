import assert from 'node:assert/strict';
import { type Daemon, type DaemonCallOptions, type RpcStream, stream } from './rpc.js';

export interface ProcessRequest {
  cmd: string;
  args?: string[];
  envs?: Record<string, string>;
  cwd?: string;
  tag?: string;
  stdin?: boolean;
  pty?: { size?: { cols: number; rows: number } };
}

export interface EndEvent {
  exitCode?: number;
  exited?: boolean;
  status?: string;
  error?: string;
}

export interface ProcessEvent {
  start?: { pid: number; startedAt?: string; offset?: string };
  data?: { stdout?: string; stderr?: string; pty?: string };
  end?: EndEvent;
  keepalive?: object;
}

export interface Running {
  pid: number;
  /** The first event. */
  start: NonNullable<ProcessEvent['start']>;
  stream: RpcStream;
  /** The next event, or undefined at the end of the stream. */
  next(): Promise<ProcessEvent | undefined>;
  /** Reads on until the text has been printed. */
  until(text: string): Promise<string>;
  /** Reads to the end. */
  finish(): Promise<{
    stdout: string;
    stderr: string;
    pty: string;
    end: EndEvent | undefined;
    error: string | undefined;
  }>;
  leave(): void;
}

/** The message that starts a process. */
export function startMessage({ cmd, args, envs, cwd, tag, stdin = false, pty }: ProcessRequest): unknown {
  return {
    process: { cmd, args: args ?? [], envs: envs ?? {}, ...(cwd === undefined ? {} : { cwd }) },
    stdin,
    ...(tag === undefined ? {} : { tag }),
    ...(pty === undefined ? {} : { pty }),
  };
}

/** Starts a process, as user `user` by default, and waits for its start event. */
export async function startProcess(
  daemon: Daemon,
  request: ProcessRequest,
  options: DaemonCallOptions = {},
): Promise<Running> {
  return follow(await stream(daemon, 'process.Process/Start', startMessage(request), options));
}

/** Starts a shell on a script. */
export const startShell = (
  daemon: Daemon,
  script: string,
  request: Omit<ProcessRequest, 'cmd' | 'args'> = {},
  options?: DaemonCallOptions,
) => startProcess(daemon, { cmd: '/bin/sh', args: ['-c', script], ...request }, options);

/** Attaches to a process: to its output from an offset on, or to what is printed from now on. */
export async function attach(
  daemon: Daemon,
  selector: { pid: number } | { tag: string },
  from?: string | number,
): Promise<Running> {
  const request = { process: selector, ...(from === undefined ? {} : { from }) };
  return follow(await stream(daemon, 'process.Process/Connect', request));
}

async function follow(rpc: RpcStream): Promise<Running> {
  assert.equal(rpc.answer.status, 200);
  const got = { stdout: [] as Buffer[], stderr: [] as Buffer[], pty: [] as Buffer[] };
  let end: EndEvent | undefined;
  const text = (key: keyof typeof got) => Buffer.concat(got[key]).toString('utf8');
  const next = async (): Promise<ProcessEvent | undefined> => {
    const { value, done } = await rpc.messages.next();
    if (done === true) return undefined;
    const { event } = value as { event: ProcessEvent };
    for (const key of ['stdout', 'stderr', 'pty'] as const) {
      const chunk = event.data?.[key];
      if (chunk !== undefined) got[key].push(Buffer.from(chunk, 'base64'));
    }
    if (event.end !== undefined) end = event.end;
    return event;
  };
  const first = await next();
  assert.ok(first?.start !== undefined, `the first event is start: ${JSON.stringify(first ?? rpc.end())}`);
  return {
    pid: first.start.pid,
    start: first.start,
    stream: rpc,
    next,
    async until(wanted) {
      for (;;) {
        const seen = text('stdout') + text('stderr') + text('pty');
        if (seen.includes(wanted)) return seen;
        if ((await next()) === undefined)
          throw new Error(`'${wanted}' was never printed: ${seen.slice(-300)}`);
      }
    },
    async finish() {
      while ((await next()) !== undefined);
      return {
        stdout: text('stdout'),
        stderr: text('stderr'),
        pty: text('pty'),
        end,
        error: rpc.end()?.error?.code,
      };
    },
    leave: () => rpc.leave(),
  };
}

/** Runs a shell script to its end. */
export async function run(daemon: Daemon, script: string, options: DaemonCallOptions = {}) {
  const running = await startShell(daemon, script, {}, options);
  return running.finish();
}
