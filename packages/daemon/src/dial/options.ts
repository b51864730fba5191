import type { DaemonDial } from './exchange.js';

export interface DialTransportOptions {
  dial: DaemonDial;
  /** Largest message that is read, bytes. */
  readMaxBytes: number;
}
