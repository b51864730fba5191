import type { MessageInitShape } from '@bufbuild/protobuf';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import { ProcessConfigSchema, type StartRequest, type StartResponseSchema } from '@svc/daemon/gen';
import type { OsUser } from '../context.js';
import { requestUser } from '../http/request-user.js';
import type { ProcessDeps } from './deps.js';
import { resolveDirectory } from './directory.js';
import { processEnvironment } from './environment.js';
import { eventStream } from './event-stream.js';
import type { Program, ProgramEvents, ProgramSpec } from './program.js';
import { RunningProcess } from './running-process.js';
import { followWithPipes, spawnWithPipes } from './spawn-pipes.js';
import { traceVariables } from './trace-context.js';

type WireStart = MessageInitShape<typeof StartResponseSchema>;

/** Starts a program and streams its events; see the RPC's description for the rules. */
export async function* startProcess(
  deps: ProcessDeps,
  request: StartRequest,
  context: HandlerContext,
): AsyncGenerator<WireStart> {
  const user = await requestUser(deps.context, context.requestHeader.get('authorization'));
  const process = await launch(deps, request, user, traceVariables(context.requestHeader));
  // What it printed before this line ran belongs to the stream too.
  const subscription = process.subscribe(0);
  const timeoutMs = context.timeoutMs();
  let expired = false;
  if (timeoutMs !== undefined) {
    const timer = setTimeout(() => {
      expired = true;
      kill(deps, process);
      subscription.close();
    }, timeoutMs);
    timer.unref();
    process.whenEnded(() => clearTimeout(timer));
  }
  try {
    for await (const event of eventStream(process, subscription, context)) yield { event };
  } finally {
    // The library's own timer may be first to end the stream.
    if (isDeadline(context.signal) && !process.end) kill(deps, process);
  }
  if (expired) throw new ConnectError('the time limit of the process is over', Code.DeadlineExceeded);
}

function isDeadline(signal: AbortSignal): boolean {
  return (
    signal.aborted && signal.reason instanceof ConnectError && signal.reason.code === Code.DeadlineExceeded
  );
}

function kill(deps: ProcessDeps, process: RunningProcess): void {
  try {
    deps.kill(process.pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
  process.program.releaseOutput();
}

async function launch(
  deps: ProcessDeps,
  request: StartRequest,
  user: OsUser,
  trace: Record<string, string> | undefined,
): Promise<RunningProcess> {
  const config = request.process ?? create(ProcessConfigSchema);
  const spec = programSpec(deps, user, config, trace);
  const process: RunningProcess = new RunningProcess(
    { config, tag: request.tag, terminal: request.pty !== undefined, startedAt: deps.context.now() },
    deps.budget,
    {
      output: (kind, bytes) => {
        deps.room.note(bytes.byteLength);
        if (kind !== 'pty') deps.logs.append({ pid: process.pid, stream: kind, tag: request.tag }, bytes);
      },
      end() {
        for (const stream of ['stdout', 'stderr'] as const) {
          if (!request.pty) deps.logs.end({ pid: process.pid, stream, tag: request.tag });
        }
        deps.table.retire(process);
      },
    },
  );
  process.adopt(await spawnProgram(deps, request, spec, process.events));
  deps.table.add(process);
  if (request.stdin === false && !request.pty)
    deps.shells.note(spec.identity, (listener) => process.whenEnded(listener));
  return process;
}

function programSpec(
  deps: ProcessDeps,
  user: OsUser,
  config: NonNullable<StartRequest['process']>,
  trace: Record<string, string> | undefined,
): ProgramSpec {
  const { context } = deps;
  return {
    command: config.cmd,
    args: config.args,
    environment: processEnvironment(user, context, config.envs, trace, deps.daemonPath),
    directory: resolveDirectory(config.cwd, context.defaults.workdir, user, context.singleUser !== undefined),
    identity: context.singleUser ? undefined : { uid: user.uid, gid: user.gid, groups: user.groups },
  };
}

async function spawnProgram(
  deps: ProcessDeps,
  request: StartRequest,
  spec: ProgramSpec,
  events: ProgramEvents,
): Promise<Program> {
  const session = deps.context.singleUser === undefined;
  try {
    if (!request.pty) {
      const input = request.stdin ?? true;
      const shell = input ? undefined : deps.shells.take(spec);
      if (shell) return followWithPipes(shell, false, events);
      const pipes = await deps.pipes.take(input);
      return spawnWithPipes(spec, { session }, pipes, deps.terminals, events);
    }
    const { spawnWithTerminal } = await import('./spawn-terminal.js');
    const size = request.pty.size;
    return spawnWithTerminal(
      spec,
      { columns: size?.cols ?? 0, rows: size?.rows ?? 0 },
      deps.terminals,
      events,
    );
  } catch (error) {
    throw new ConnectError(`cannot start the process: ${reasonOf(error)}`, Code.InvalidArgument);
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  // Node's own text repeats the value, which may be a secret.
  return code === 'ERR_INVALID_ARG_VALUE'
    ? 'its command, an argument or a variable holds a NUL character'
    : message;
}
