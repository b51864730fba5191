import type { LocalFiles } from './local-files.js';

/** A named place where programs can listen to what the SDK does. */
export interface DiagnosticsChannel {
  readonly hasSubscribers: boolean;
  publish(message: unknown): void;
}

/** The differences between Node and every other platform. Chosen by the `imports` map of the package. */
export interface Runtime {
  /** `node` covers programs that speak Node's modules (Node, Bun, Deno); `browser` a page or its workers. */
  readonly kind: 'node' | 'browser' | 'other';
  /** Name and version for the User-Agent, such as `node/20.20.0`. Undefined where it must not be set. */
  readonly userAgent: string | undefined;
  /** Environment variables; empty where there are none. */
  environment(): Record<string, string | undefined>;
  /** The channel of that name; one that nobody hears where there are none. */
  channel(name: string): DiagnosticsChannel;
  /**
   * Files of the machine that the program runs on.
   * @throws InvalidRequestError where there are none
   */
  localFiles(): Promise<LocalFiles>;
  /** The text of a file of this machine. @throws InvalidRequestError where there are none. */
  readLocalText(path: string): string;
}
