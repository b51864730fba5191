import { Code, ConnectError } from '@connectrpc/connect';
import type { ProcessInput, StreamInputRequest } from '@svc/daemon/gen';
import type { HeapRoom } from '../system/heap-room.js';
import type { ProcessDeps } from './deps.js';
import type { RunningProcess } from './running-process.js';

/**
 * Writes one piece of input and waits until the kernel has it.
 *
 * @throws ConnectError `internal` for the wrong kind or a failed write, `unimplemented` without input.
 */
export async function writeInput(
  room: HeapRoom,
  target: RunningProcess,
  input: ProcessInput | undefined,
  signal: AbortSignal,
): Promise<void> {
  const piece = input?.input;
  const { terminal } = target.description;
  if (piece?.case === undefined) throw new ConnectError('the request has no input', Code.Unimplemented);
  if (piece.case === 'stdin' && terminal) {
    throw new ConnectError('the process has a terminal: send pty input instead of stdin', Code.Internal);
  }
  if (piece.case === 'pty' && !terminal) {
    throw new ConnectError('the process has no terminal: send stdin instead of pty input', Code.Internal);
  }
  room.note(piece.value.byteLength);
  try {
    await untilAborted(target.program.write(piece.value), signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new ConnectError((error as Error).message, Code.Internal);
  }
}

/** Writes pieces in the order they come. Stops reading them at the first failure. */
export async function streamInput(
  { table, room }: Pick<ProcessDeps, 'table' | 'room'>,
  requests: AsyncIterable<StreamInputRequest>,
  signal: AbortSignal,
): Promise<void> {
  let target: RunningProcess | undefined;
  for await (const { event } of brokenAsUnknown(requests)) {
    switch (event.case) {
      case 'start':
        target = table.get(event.value.process);
        break;
      case 'data':
        if (!target) throw new ConnectError('data came before start', Code.FailedPrecondition);
        await writeInput(room, target, event.value.input, signal);
        break;
      case 'keepalive':
        break;
      default:
        throw new ConnectError('the message has neither start, data nor keepalive', Code.Unimplemented);
    }
  }
}

async function* brokenAsUnknown(
  requests: AsyncIterable<StreamInputRequest>,
): AsyncGenerator<StreamInputRequest> {
  try {
    yield* requests;
  } catch (error) {
    // A caller that vanished mid-stream: nobody reads this, but it must not look like a refusal of ours.
    const { code } = ConnectError.from(error);
    if (code === Code.Aborted || code === Code.Canceled)
      throw new ConnectError('the request broke off', Code.Unknown);
    throw error;
  }
}

function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
