import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import {
  type Process,
  type ProcessInput,
  type ProcessSelector,
  Signal,
  type StartRequest,
} from '@svc/daemon';
import { settle } from '../clock/test-clock.js';
import type { CommandCall } from '../commands/call.js';
import { lineOf } from '../commands/script.js';
import { befall, refusalOf } from '../faults/befall.js';
import type { Fault } from '../faults/fault-list.js';
import type { OutputReader, TestProcess } from '../processes/test-process.js';
import { type DaemonScope, keepaliveMs, scopeOf, timestampOf, waitOr } from './scope.js';
import { userOf } from './users.js';

type Yielded<Stream> = Stream extends AsyncIterable<infer Message> ? Message : never;
type WireEvent = NonNullable<Yielded<ReturnType<ServiceImpl<typeof Process>['start']>>['event']>;

/** `process.Process` over scripted programs. */
export const processService: ServiceImpl<typeof Process> = {
  async *start(request, context) {
    const scope = scopeOf(context);
    const call = callOf(scope, request, context);
    const fault = scope.faultOf(call.line);
    if (fault) await suffer(fault, scope);
    const process = scope.sandbox.processes.start(call, scope.scripts);
    if (request.stdin === false && !request.pty) process.input.close();
    const reader = process.subscribe(0);
    const limit = limitMs(context.requestHeader);
    let expired = false;
    const cancel =
      limit === undefined
        ? undefined
        : scope.clock.after(
            limit,
            () => {
              expired = !process.end;
              process.kill('killed');
            },
            { isEnd: true },
          );
    try {
      for await (const event of follow(process, reader, { ...scope, fault: fault ?? scope.fault }, context)) {
        if (expired) break;
        yield { event };
      }
    } finally {
      cancel?.();
    }
    if (expired) throw new ConnectError('the time limit of the process is over', Code.DeadlineExceeded);
  },

  async *connect({ process: selector, from }, context) {
    const scope = scopeOf(context);
    const process = scope.sandbox.processes.getRetained(selector);
    const reader = process.subscribe(from === undefined ? process.written : Number(from));
    const offset = from === undefined ? undefined : BigInt(reader.offset);
    for await (const event of follow(process, reader, scope, context, offset)) yield { event };
  },

  list(_, context) {
    const processes = [...scopeOf(context).sandbox.processes.running].map(({ pid, call, startedMs }) => {
      const { cmd, args, envs, cwd, tag } = call;
      return {
        pid,
        config: { cmd, args: [...args], envs: { ...envs }, ...(cwd === undefined ? {} : { cwd }) },
        startedAt: timestampOf(startedMs),
        ...(tag === undefined ? {} : { tag }),
      };
    });
    return { processes };
  },

  update({ process: selector, pty }, context) {
    const process = processOf(context, selector);
    if (!pty) return {};
    if (!process.terminal) throw new ConnectError('the process has no terminal', Code.Internal);
    process.terminal = { cols: pty.size?.cols ?? 0, rows: pty.size?.rows ?? 0 };
    return {};
  },

  sendInput({ process: selector, input }, context) {
    write(processOf(context, selector), input);
    return {};
  },

  async streamInput(messages, context) {
    let target: TestProcess | undefined;
    for await (const { event } of messages) {
      if (event.case === 'start') target = processOf(context, event.value.process);
      else if (event.case === 'data') {
        if (!target) throw new ConnectError('data came before start', Code.FailedPrecondition);
        write(target, event.value.input);
      } else if (event.case !== 'keepalive') {
        throw new ConnectError('the message has neither start, data nor keepalive', Code.Unimplemented);
      }
    }
    return {};
  },

  sendSignal({ process: selector, signal }, context) {
    const process = processOf(context, selector);
    if (signal !== Signal.SIGKILL && signal !== Signal.SIGTERM)
      throw new ConnectError(`signal ${signal} is not supported`, Code.Unimplemented);
    process.kill(signal === Signal.SIGKILL ? 'killed' : 'terminated');
    return {};
  },

  closeStdin({ process: selector }, context) {
    const process = processOf(context, selector);
    if (process.terminal)
      throw new ConnectError('a terminal has no stdin to close; send Ctrl+D (0x04) instead', Code.Unknown);
    process.input.close();
    return {};
  },
};

function processOf(context: HandlerContext, selector: ProcessSelector | undefined): TestProcess {
  return scopeOf(context).sandbox.processes.get(selector);
}

/** @throws ConnectError when the working directory does not exist, or a word holds a NUL character */
function callOf({ sandbox }: DaemonScope, request: StartRequest, context: HandlerContext): CommandCall {
  const { process, pty, tag } = request;
  const { cmd = '', args = [], envs = {}, cwd } = process ?? {};
  if ([cmd, ...args, ...Object.entries(envs).flat()].some((word) => word.includes('\0')))
    throw new ConnectError(
      'cannot start the process: its command, an argument or a variable holds a NUL character',
      Code.InvalidArgument,
    );
  const user = userOf(context.requestHeader);
  if (cwd) {
    if (/^~[^/]/.test(cwd))
      throw new ConnectError(
        `cannot resolve ${JSON.stringify(cwd)}: only ~ itself is known`,
        Code.InvalidArgument,
      );
    const directory = sandbox.files.resolve(cwd);
    if (sandbox.files.find(directory)?.kind !== 'directory')
      throw new ConnectError(
        `working directory ${JSON.stringify(directory)} does not exist`,
        Code.InvalidArgument,
      );
  }
  return {
    line: lineOf(cmd, args),
    cmd,
    args,
    envs,
    cwd,
    user,
    tag,
    terminal: pty && { cols: pty.size?.cols ?? 0, rows: pty.size?.rows ?? 0 },
    sandbox,
  };
}

function write(process: TestProcess, input: ProcessInput | undefined): void {
  const piece = input?.input;
  if (piece?.case === undefined) throw new ConnectError('the request has no input', Code.Unimplemented);
  if (piece.case === 'stdin' && process.terminal)
    throw new ConnectError('the process has a terminal: send pty input instead of stdin', Code.Internal);
  if (piece.case === 'pty' && !process.terminal)
    throw new ConnectError('the process has no terminal: send stdin instead of pty input', Code.Internal);
  if (process.input.closed) throw new ConnectError('stdin is closed', Code.Internal);
  process.inputText += new TextDecoder().decode(piece.value);
  process.input.write(piece.value);
}

/** Reads the time limit of a process from its request, ms. */
function limitMs(headers: Headers): number | undefined {
  const text = headers.get(lifeHeader);
  return text === null ? undefined : Number(text);
}

/** In which the routes hand `Connect-Timeout-Ms` on: the time of a process is that of the clock, not the library's. */
export const lifeHeader = 'Test-Life-Ms';

/** Start, output and end, with keepalives in silence. */
async function* follow(
  process: TestProcess,
  reader: OutputReader,
  scope: DaemonScope,
  context: HandlerContext,
  offset?: bigint,
): AsyncGenerator<WireEvent> {
  const silenceMs = keepaliveMs(context.requestHeader);
  const { signal, fault } = scope;
  const cutAfter = fault?.cutAfterBytes ?? Number.POSITIVE_INFINITY;
  let sent = 0;
  try {
    const start = { pid: process.pid, startedAt: timestampOf(process.startedMs) };
    yield { event: { case: 'start', value: { ...start, ...(offset === undefined ? {} : { offset }) } } };
    for (;;) {
      for (const { kind, bytes } of process.piecesFrom(reader.offset)) {
        signal.throwIfAborted();
        const value = bytes.subarray(0, cutAfter - sent);
        reader.offset += value.byteLength;
        sent += value.byteLength;
        if (value.byteLength > 0) yield { event: { case: 'data', value: { output: { case: kind, value } } } };
        if (sent >= cutAfter) break;
      }
      if (sent >= cutAfter) {
        process.lose(reader.offset, fault?.loseBytes ?? 0);
        // Bytes that were sent arrive before the connection breaks.
        await settle();
        scope.breakOff();
        return;
      }
      signal.throwIfAborted();
      if (process.end && reader.offset >= process.written) {
        yield { event: { case: 'end', value: process.end } };
        return;
      }
      if (!(await waitOr(scope, process.changed(), silenceMs)))
        yield { event: { case: 'keepalive', value: {} } };
    }
  } finally {
    process.unsubscribe(reader);
  }
}

/** Does to a command what a fault says. @throws ConnectError */
async function suffer(fault: Fault, scope: DaemonScope): Promise<void> {
  await befall(fault, scope);
  scope.signal.throwIfAborted();
  if (fault.connection !== undefined) scope.breakOff();
  const refusal = fault.connection === undefined ? refusalOf(fault) : undefined;
  if (!refusal) return;
  const code = rpcCodes[refusal.status] ?? (refusal.status < 500 ? Code.InvalidArgument : Code.Internal);
  throw new ConnectError(refusal.message, code);
}

/** Codes that stand for a status in an answer that has begun. */
const rpcCodes: Record<number, Code> = {
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  429: Code.ResourceExhausted,
  501: Code.Unimplemented,
  502: Code.Unavailable,
  503: Code.Unavailable,
  504: Code.DeadlineExceeded,
};
