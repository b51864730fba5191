import type { EgressPolicy, Placeholder } from '@svc/network-policy';

/** The egress process's view of a sandbox. */
export interface EgressSandbox {
  id: string;
  /** Source address of its connections, as the driver reports it. */
  address: string;
  /** Comes back with every question and report, so that the answering side knows which execution is meant. */
  execution?: string;
  /** Absent: the kernel forwards its connections, and only its names are resolved by the egress process. */
  policy?: EgressPolicy;
}

/** Signs the certificates of intercepted hosts. */
export interface EgressAuthority {
  /** PEM. */
  certificate: string;
  /** PKCS #8 as PEM. */
  privateKey: string;
}

/** Connections of one sandbox to one place with one outcome, since the last batch. */
export interface EgressReport {
  sandboxId: string;
  execution?: string;
  /** The name that was asked for, in lower case. */
  host?: string;
  /** Where the connection was going. A DNS query has none. */
  address?: string;
  port: number;
  /** `failed`: allowed, but nothing came of it. */
  outcome: 'allowed' | 'denied' | 'failed';
  /** The rule that decided, or why it failed. Never a secret. */
  rule: string;
  /** Connections that began, or requests where each is decided. 0 when only bytes are reported. */
  attempts: number;
  bytesSent: number;
  bytesReceived: number;
  /** Of the last attempt. */
  at: Date;
}

export interface EgressQuestion {
  sandboxId: string;
  execution?: string;
  /** Aborts when nobody waits for the answer any more. */
  signal: AbortSignal;
}

/** Questions of the egress process to the server. A handler that throws makes the request or query fail; its error stays here. */
export interface EgressHandlers {
  /** Sends a DNS message to a resolver. Gives the reply's bytes. */
  resolveDns(query: Uint8Array, about: EgressQuestion): Promise<Uint8Array>;
  /** Gives the value of each placeholder, in the same order. Throws when one is unknown or revoked. */
  resolvePlaceholders(
    placeholders: readonly Placeholder[],
    about: EgressQuestion & { host: string },
  ): Promise<readonly string[]>;
  /** Gets what happened, about once a second; all of one sandbox in one call. */
  onReports(reports: readonly EgressReport[]): void;
}

/** The egress process of a driver, over one connection to its control socket. */
export interface EgressControl {
  /** Has the process forget all sandboxes but these, and end their flows. */
  keepSandboxes(ids: readonly string[]): Promise<void>;
  /**
   * Adds a sandbox, or replaces what the process knows of it. Its flows that are no longer allowed end.
   * @param signal gives the call up; it may have been heard all the same
   * @throws {Error} also when the process cannot read the policy: it has forgotten the sandbox then, which sends nothing
   */
  setSandbox(sandbox: EgressSandbox, signal?: AbortSignal): Promise<void>;
  /** Forgets a sandbox and ends its flows. Nothing happens when it is not known. */
  removeSandbox(id: string): Promise<void>;
  /**
   * Sets who signs for intercepted hosts; without an authority they cannot be reached.
   * @param extraRoots PEM; trusted upstream beside the well-known authorities
   */
  setAuthority(authority: EgressAuthority | undefined, extraRoots?: string): Promise<void>;
  /** Settles when the connection has ended, by either side. Never rejects. The process keeps what it received until it ends. */
  readonly closed: Promise<void>;
  close(): void;
}
