import type { OutputEvent, OutputHub, OutputReader } from '../process/output-hub.js';
import type { CommandEvent, CommandResult, FollowCommandOptions } from './options.js';

/** Calls the caller's functions with text, in the order of the output. */
export function callbacksOf({ onStdout, onStderr }: FollowCommandOptions) {
  if (!onStdout && !onStderr) return undefined;
  const sinks = {
    stdout: onStdout && { call: onStdout, decoder: new TextDecoder() },
    stderr: onStderr && { call: onStderr, decoder: new TextDecoder() },
  };
  return {
    onOutput: async ({ type, data }: OutputEvent): Promise<void> => {
      const sink = type === 'stdout' || type === 'stderr' ? sinks[type] : undefined;
      const text = sink?.decoder.decode(data, { stream: true });
      if (sink && text) await sink.call(text);
    },
    /** Gives what is left of characters that were never completed. */
    flush: async (): Promise<void> => {
      for (const sink of Object.values(sinks)) {
        const text = sink?.decoder.decode();
        if (sink && text) await sink.call(text);
      }
    },
  };
}

/** The events of a command, as a caller iterates over them. */
export async function* eventsOf(hub: OutputHub): AsyncGenerator<CommandEvent, void, undefined> {
  const reader = hub.read(() => true);
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  try {
    for (;;) {
      const event = await reader.next();
      if (!event) return;
      const { type, data } = event;
      if (type === 'reattached') yield { type, lostBytes: event.lostBytes ?? 0 };
      else if (type !== 'pty') yield { type, data, text: decoders[type].decode(data, { stream: true }) };
    }
  } finally {
    reader.close();
  }
}

/**
 * One stream of a program's output. Nothing is read ahead; cancelling it stops listening, not the program. `onLoss` makes
 * the error that the stream ends with where output is missing; absent: it continues.
 */
export function streamOf(
  hub: OutputHub,
  type: OutputEvent['type'],
  onLoss?: (lostBytes: number) => Error,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const wanted = ({ type: found, lostBytes = 0 }: OutputEvent) =>
    found === type || (onLoss !== undefined && lostBytes > 0);
  let reader: OutputReader | undefined = hub.read(wanted);
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const event = await reader?.next();
        if (!event) return controller.close();
        if (event.type === type) return controller.enqueue(event.data as Uint8Array<ArrayBuffer>);
        reader?.close();
        throw onLoss?.(event.lostBytes ?? 0);
      },
      cancel() {
        reader?.close();
        reader = undefined;
      },
    },
    { highWaterMark: 0 },
  );
}

/** Returns the result of a command, from the part of its output that is kept. */
export function resultOf(
  hub: OutputHub,
  end: { exitCode: number; error: string | undefined },
  { reattached, lostBytes }: { reattached: number; lostBytes: number },
): CommandResult {
  return {
    exitCode: end.exitCode,
    stdout: textOf(hub, 'stdout'),
    stderr: textOf(hub, 'stderr'),
    ...(end.error === undefined ? {} : { error: end.error }),
    ...(reattached === 0 ? {} : { reattached }),
    ...(lostBytes === 0 ? {} : { lostBytes }),
    ...(hub.truncated ? { truncated: true } : {}),
  };
}

/** The kept part of one stream as text. */
export function textOf(hub: OutputHub, type: 'stdout' | 'stderr'): string {
  const decoder = new TextDecoder();
  let text = '';
  for (const event of hub.kept) if (event.type === type) text += decoder.decode(event.data, { stream: true });
  return text + decoder.decode();
}
