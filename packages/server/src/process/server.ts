import type { Driver } from '@svc/runtime/contract';
import type { RecoveryReport } from '../sandboxes/recovery/recover.js';
import type { ServerContext } from './context.js';

export interface StopOptions {
  /** Ends the sandboxes too. Default: what `destroySandboxesOnStop` says. */
  destroySandboxes?: boolean;
}

/** A running server. Ends by `stop()`, or at the end of an `await using` block. */
export interface Server extends AsyncDisposable {
  /** Base URL of the platform API. */
  readonly apiUrl: string;
  /** Base URL of the gateway. */
  readonly sandboxUrl: string;
  /** Base URL of `/metrics`, `/status` and the operations on teams; undefined when there is none. */
  readonly operatorUrl: string | undefined;
  /** Credential of the operations on teams. */
  readonly operatorToken: string;
  /** `<port>-<sandboxID>.<domain>` */
  readonly domain: string;
  /** Key of the default team. */
  readonly apiKey: string;
  /** True when the key was made at this start. */
  readonly firstStart: boolean;
  readonly driver: Driver;
  /** The reason for this driver; one sentence. */
  readonly driverReason: string;
  /** The report of the recovery at the start. */
  readonly recovery: RecoveryReport;
  /** For tests and embedding: what the use cases stand on. */
  readonly context: ServerContext;
  /** Ends every sandbox whose time is over now. @returns how many were due */
  expireDue(): Promise<number>;
  /** Reads the files of `tls` again now, where there are any: see `Certificates.reload`. Never rejects. */
  reloadCertificates(): Promise<void>;
  /** Takes one sample of every running sandbox now. */
  sampleNow(): Promise<void>;
  /** Stops taking work, waits for requests, releases everything. Sandboxes continue unless the options say otherwise. */
  stop(options?: StopOptions): Promise<void>;
}
