import { runtime } from '#runtime';
import type { Service } from '../errors/resource.js';

/** Facts that every event of one call carries. */
export interface CallEvent {
  /** Number of the call in this process; the same in all its events. */
  callId: number;
  /** Name of the SDK call, such as `sandboxes.create`. */
  operation: string;
  /** The service that is called. */
  service: Service;
  method?: string;
  /** Without secrets. */
  url?: string;
}

/** Published on `svc:call:response`: one attempt was answered. */
export interface ResponseEvent extends CallEvent {
  /** From 1. */
  attempt: number;
  status: number;
  requestId: string | undefined;
  /** From the start of the attempt to its headers, ms. */
  headersMs: number;
}

/** Published on `svc:call:retry`: the call waits before another attempt. */
export interface RetryEvent extends CallEvent {
  /** The attempt that failed, from 1. */
  attempt: number;
  delayMs: number;
  status?: number;
  error?: unknown;
}

/** Published on `svc:call:end` and, with `error`, on `svc:call:error`. */
export interface EndEvent extends CallEvent {
  attempts: number;
  /** From the start of the call to its result, ms. */
  totalMs: number;
  /** Spent waiting between attempts, ms. */
  waitedMs: number;
  /** From the start of the last attempt to its headers, ms. */
  headersMs: number | undefined;
  /** From those headers to the result (reading the body), ms. */
  bodyMs: number | undefined;
  status: number | undefined;
  error?: unknown;
}

/** Names of the channels of `node:diagnostics_channel`; in other runtimes nothing is published. */
export const diagnosticsChannels = {
  start: 'svc:call:start',
  response: 'svc:call:response',
  retry: 'svc:call:retry',
  end: 'svc:call:end',
  error: 'svc:call:error',
} as const;

interface Events {
  start: CallEvent;
  response: ResponseEvent;
  retry: RetryEvent;
  end: EndEvent;
  error: EndEvent;
}

/**
 * Held for good: Node drops a channel that nobody references, and when that is collected late it also forgets the next
 * one of the same name, with everybody who subscribed to it since.
 */
const channels = {
  start: runtime.channel(diagnosticsChannels.start),
  response: runtime.channel(diagnosticsChannels.response),
  retry: runtime.channel(diagnosticsChannels.retry),
  end: runtime.channel(diagnosticsChannels.end),
  error: runtime.channel(diagnosticsChannels.error),
};

/** Publishes an event; it is only made when there is a subscriber. */
export function publish<Name extends keyof Events>(name: Name, event: () => Events[Name]): void {
  const channel = channels[name];
  if (channel.hasSubscribers) channel.publish(event());
}
