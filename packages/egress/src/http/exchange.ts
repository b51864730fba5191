import type { Duplex } from 'node:stream';

/** The decision on one request. */
export type RequestPlan =
  /** It continues, with these headers set, over a connection that `open` makes when none of this `key` is free. */
  | { kind: 'forward'; key: string; set: (readonly [string, string])[]; open(): Promise<Duplex> }
  /** It is answered here. */
  | { kind: 'answer'; status: 400 | 405 | 421 | 502; text: string }
  /** Its connection is cut. */
  | { kind: 'cut' };

/** A request, as far as it matters where it goes. */
export interface RequestFacts {
  method: string;
  /** Undefined without one. */
  host: string | undefined;
}

/** One connection of a sandbox whose requests are looked at. */
export interface HttpConnection {
  /** Decides about a request. Never throws. */
  plan(request: RequestFacts): Promise<RequestPlan>;
  /** Reports that a request failed, in words without anything of it. */
  fail(error: unknown): void;
  /** Ends the connection with a reset. */
  cut(): void;
}
