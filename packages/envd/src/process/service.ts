import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { type Process, Signal } from '@svc/daemon/gen';
import type { ProcessDeps } from './deps.js';
import { eventStream } from './event-stream.js';
import { startProcess } from './start.js';
import { streamInput, writeInput } from './write-input.js';

const SIGNALS: Partial<Record<Signal, NodeJS.Signals>> = {
  [Signal.SIGTERM]: 'SIGTERM',
  [Signal.SIGKILL]: 'SIGKILL',
};

/** The Process service. */
export function createProcessService(deps: ProcessDeps): ServiceImpl<typeof Process> {
  const { table } = deps;
  return {
    start: (request, context) => startProcess(deps, request, context),

    async *connect(request, context) {
      const process = table.getRetained(request.process);
      const from = request.from === undefined ? undefined : Number(request.from);
      const events = eventStream(process, process.subscribe(from), context, from !== undefined);
      for await (const event of events) yield { event };
    },

    list() {
      const processes = [...table.running()].map(({ description, pid }) => ({
        config: description.config,
        pid,
        startedAt: timestampFromMs(description.startedAt),
        ...(description.tag === undefined ? {} : { tag: description.tag }),
      }));
      return { processes };
    },

    update(request) {
      const { program } = table.get(request.process);
      const size = request.pty?.size;
      if (!request.pty) return {};
      if (!program.resize) throw new ConnectError('the process has no terminal', Code.Internal);
      try {
        program.resize(size?.cols ?? 0, size?.rows ?? 0);
      } catch (error) {
        throw new ConnectError(`cannot resize the terminal: ${(error as Error).message}`, Code.Internal);
      }
      return {};
    },

    async sendInput(request, context) {
      await writeInput(deps.room, table.get(request.process), request.input, context.signal);
      return {};
    },

    async streamInput(requests, context) {
      await streamInput(deps, requests, context.signal);
      return {};
    },

    sendSignal(request) {
      const target = table.get(request.process);
      const name = SIGNALS[request.signal];
      if (!name) throw new ConnectError(`signal ${request.signal} is not supported`, Code.Unimplemented);
      try {
        deps.kill(target.pid, name);
      } catch (error) {
        throw new ConnectError(`cannot send ${name}: ${(error as Error).message}`, Code.Internal);
      }
      target.program.releaseOutput();
      return {};
    },

    closeStdin(request) {
      const target = table.get(request.process);
      if (target.description.terminal) {
        throw new ConnectError('a terminal has no stdin to close; send Ctrl+D (0x04) instead', Code.Unknown);
      }
      target.program.closeInput();
      return {};
    },
  };
}
