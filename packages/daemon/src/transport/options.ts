/** Largest message that is read, bytes: as much as a daemon sends. What answers in its place may be anybody's program. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

export interface DefaultTransportOptions {
  /** Scheme, host and port. */
  baseUrl: string;
  /** Largest message that is read, bytes; a larger one fails with `resource_exhausted`. Default 64 MiB. */
  readMaxBytes?: number | undefined;
  /**
   * Node only: open streams do not keep the program running. A caller who waits for something on a stream has to keep it
   * running by other means. Default false.
   */
  unrefStreams?: boolean | undefined;
}

/** Sends a request: `fetch`, or something with the same manners. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>;

export interface FetchTransportOptions {
  /** Scheme, host and port. */
  baseUrl: string;
  /** Default: the global `fetch` at the moment of each call. */
  fetch?: FetchFunction | undefined;
  /**
   * True when request bodies may be streamed. Default: yes outside browsers. Without it, the messages of a
   * client-streaming call are collected and sent as one body when the stream ends.
   */
  streamRequests?: boolean | undefined;
  /** Largest message that is read, bytes; a larger one fails with `resource_exhausted`. Default 64 MiB. */
  readMaxBytes?: number | undefined;
}
