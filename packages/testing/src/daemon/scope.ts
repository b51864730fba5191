import { createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { TestClock } from '../clock/test-clock.js';
import type { ScriptList } from '../commands/script.js';
import type { Fault } from '../faults/fault-list.js';
import type { TestSandbox } from '../sandboxes/test-sandbox.js';

/** The subject of one request to a daemon. */
export interface DaemonScope {
  readonly sandbox: TestSandbox;
  readonly clock: TestClock;
  readonly scripts: ScriptList;
  /** Fires when the caller left, the sandbox stopped, or the service was closed. */
  readonly signal: AbortSignal;
  /** The fault that happens to the request. */
  readonly fault: Fault | undefined;
  /** The fault that happens to a command line. */
  faultOf(command: string): Fault | undefined;
  /** Breaks the connection. */
  breakOff(): void;
}

/** Where the handlers of RPCs find their scope. */
export const scopeKey = createContextKey<DaemonScope | undefined>(undefined);

export function scopeOf(context: HandlerContext): DaemonScope {
  const scope = context.values.get(scopeKey);
  if (!scope) throw new Error('An RPC came without its scope.');
  return scope;
}

/** Waits for `work`, or so long on the clock (then false), or until the signal fires. */
export async function waitOr(
  { clock, signal }: Pick<DaemonScope, 'clock' | 'signal'>,
  work: Promise<unknown>,
  ms: number,
): Promise<boolean> {
  const done = new AbortController();
  const late = clock.sleep(ms, AbortSignal.any([signal, done.signal]), { isEnd: true }).then(() => false);
  late.catch(() => {});
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    done.abort();
  }
}

/** Milliseconds between keepalives, from the header's seconds; 90 s when absent or senseless. */
export function keepaliveMs(headers: Headers): number {
  const text = headers.get('Keepalive-Ping-Interval') ?? '';
  return (/^\d{1,6}$/.test(text) ? Number(text) || 90 : 90) * 1000;
}

/** A moment as the wire has it. */
export function timestampOf(ms: number): { seconds: bigint; nanos: number } {
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) };
}
