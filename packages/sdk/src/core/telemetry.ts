import type { Service } from '../errors/resource.js';

/** Facts about an operation at its beginning. */
export interface OperationStart {
  /** Name of the SDK call, such as `sandboxes.create`. */
  operation: string;
  /** The service that is called. */
  service: Service;
  /** The sandbox whose daemon or port is called. */
  sandboxId?: string | undefined;
  /** The template of that sandbox. */
  templateId?: string | undefined;
  /** Present when a program is started or followed: the operation lasts until its end. `line`: its command line. */
  process?: { line: string | undefined } | undefined;
}

/** Something that happens to an operation. Durations in ms. */
export type OperationEvent =
  /** A request goes out, once per attempt. `url` holds everything: paths, tokens. */
  | { type: 'request'; method: string; url: string }
  | { type: 'response'; attempt: number; status: number; requestId: string | undefined }
  | { type: 'retry'; attempt: number; delayMs: number; status?: number; error?: unknown }
  /** The platform's answer as it came over the wire. */
  | { type: 'answer'; data: unknown }
  /** Content of files that was sent or received. */
  | { type: 'transfer'; direction: 'sent' | 'received'; bytes: number }
  | { type: 'started'; pid: number }
  | { type: 'reattached'; lostBytes: number }
  /** The last one. `aborted`: the caller's signal ended it. `exitCode`: of a program, -1 when a signal ended it. */
  | { type: 'end'; error?: unknown; aborted?: boolean; exitCode?: number };

/** Follows one operation. None of its members throws. */
export interface OperationObserver {
  /** Sent with every request of the operation, unless the request has such headers itself. */
  readonly headers: Readonly<Record<string, string>>;
  /** Runs what sends the requests. */
  run<T>(work: () => T): T;
  tell(event: OperationEvent): void;
}

/** Follows what clients do: `openTelemetry()` of `@svc/sdk/opentelemetry` makes one. */
export interface Telemetry {
  /** An operation begins. Does not throw. */
  begin(start: OperationStart): OperationObserver;
}

/** Where the telemetry of all clients without one of their own is kept: two copies of the package share it. */
export const telemetryKey: unique symbol = Symbol.for('svc.sdk.telemetry');

/** Begins to follow an operation; undefined when nobody wants to. The caller reports the end. */
export function observe(own: Telemetry | undefined, start: OperationStart): OperationObserver | undefined {
  const telemetry = own ?? (globalThis as { [telemetryKey]?: Telemetry })[telemetryKey];
  return telemetry?.begin(start);
}

/** Opens something that continues as a stream: reports the end when that fails, else the end of the stream does. */
export async function observeOpening<T>(
  own: Telemetry | undefined,
  start: OperationStart & { signal: AbortSignal | undefined },
  open: (observer: OperationObserver | undefined) => Promise<T>,
): Promise<{ value: T; observer: OperationObserver | undefined }> {
  const { signal, ...facts } = start;
  const observer = observe(own, facts);
  try {
    return { value: await open(observer), observer };
  } catch (error) {
    observer?.tell({ type: 'end', error, aborted: signal?.aborted === true });
    throw error;
  }
}
