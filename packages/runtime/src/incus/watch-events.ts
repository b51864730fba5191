import { setTimeout as sleep } from 'node:timers/promises';
import type { IncusClient } from './incus-client.js';
import { openWebSocket } from './web-socket.js';
import { FrameReader, pongFrame } from './web-socket-frames.js';

/** Something that happened to an instance. */
export interface LifecycleEvent {
  /** Such as `instance-stopped`. */
  action: string;
  /** Of the instance; undefined when it is about something else. */
  instance: string | undefined;
}

const AGAIN_MS = 1_000;
const MOST_UNREAD_BYTES = 64 * 2 ** 10;

export interface WatchOptions {
  client: IncusClient;
  onEvent(event: LifecycleEvent): void;
  /** Called whenever events may have been missed, at the beginning too. */
  onGap(): void;
  signal: AbortSignal;
}

/** Listens to what happens in the project until it is aborted, whichever member it has to ask. Never rejects. */
export async function watchEvents({ client, onEvent, onGap, signal }: WatchOptions): Promise<void> {
  while (!signal.aborted) {
    await listen(client, onEvent, onGap, signal).catch(() => undefined);
    await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function listen(
  client: IncusClient,
  onEvent: (event: LifecycleEvent) => void,
  onGap: () => void,
  signal: AbortSignal,
): Promise<void> {
  const socket = await openWebSocket(client, { path: '/events', query: { type: 'lifecycle' } });
  const end = () => socket.destroy();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    onGap();
    const reader = new FrameReader();
    for await (const chunk of socket) {
      for (const frame of reader.push(chunk as Buffer)) {
        if (frame.kind === 'close') return;
        // A peer that does not read answers gets no more of them.
        if (frame.kind === 'ping' && socket.writableLength < MOST_UNREAD_BYTES)
          socket.write(pongFrame(frame.payload));
        const event = frame.kind === 'text' ? readEvent(frame.text) : undefined;
        if (event !== undefined) onEvent(event);
      }
    }
  } finally {
    signal.removeEventListener('abort', end);
    socket.destroy();
  }
}

/** Undefined for what is no event of a life. Pure. */
export function readEvent(text: string): LifecycleEvent | undefined {
  try {
    const { type, metadata } = JSON.parse(text) as {
      type?: string;
      metadata?: { action?: unknown; source?: unknown };
    };
    if (type !== 'lifecycle' || typeof metadata?.action !== 'string') return undefined;
    const instance = /^\/1\.0\/instances\/([^/?]+)/.exec(String(metadata.source))?.[1];
    return { action: metadata.action, instance: instance && decodeURIComponent(instance) };
  } catch {
    return undefined;
  }
}
