export interface DefaultTransportOptions {
  /** Scheme, host and port. */
  baseUrl: string;
  /**
   * Node only: open streams do not keep the program running. Whoever waits for something on a stream has to keep it
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
   * Whether request bodies may be streamed. Default: yes outside browsers. Without it, the messages of a
   * client-streaming call are collected and sent as one body when the stream ends.
   */
  streamRequests?: boolean | undefined;
  /** Largest message that is read, bytes. Default 4 GiB. */
  readMaxBytes?: number | undefined;
}
