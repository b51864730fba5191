import type { EgressReport, EgressSandbox } from '../control/types.js';

/** A connection, or a name that is asked for, as reports name it. */
export interface Attempt {
  host?: string;
  address?: string;
  port: number;
  outcome: EgressReport['outcome'];
  rule: string;
}

/** Where bytes are counted: sockets keep these numbers. */
export interface ByteCounts {
  /** From the sandbox. */
  bytesRead: number;
  /** To the sandbox. */
  bytesWritten: number;
}

/** Places of one sandbox that a batch distinguishes; further ones are reported together. */
const MAX_PLACES = 1_000;
const OTHER = '(other)';

/** Gathers what happened, for one batch after another. */
export class Reports {
  #batch = new Map<string, EgressReport>();
  readonly #places = new Map<string, number>();
  readonly #counted = new Map<
    ByteCounts,
    { sandbox: EgressSandbox; attempt: Attempt; sent: number; received: number }
  >();
  readonly #now: () => Date;

  constructor(now: () => Date = () => new Date()) {
    this.#now = now;
  }

  /** Reports an attempt. */
  record(sandbox: EgressSandbox, attempt: Attempt): void {
    const report = this.#reportOf(sandbox, attempt);
    report.attempts += 1;
    report.at = this.#now();
  }

  /** Counts bytes of a connection for an attempt, from now on; before, they were another's. */
  count(sandbox: EgressSandbox, attempt: Attempt, bytes: ByteCounts): void {
    const before = this.#counted.get(bytes);
    if (before !== undefined) this.#add(bytes, before);
    this.#counted.set(bytes, {
      sandbox,
      attempt,
      sent: before?.sent ?? 0,
      received: before?.received ?? 0,
    });
  }

  /** Ends counting bytes of a connection. */
  finish(bytes: ByteCounts): void {
    const counted = this.#counted.get(bytes);
    if (counted === undefined) return;
    this.#add(bytes, counted);
    this.#counted.delete(bytes);
  }

  /** Returns the reports since the last batch. */
  take(): EgressReport[] {
    for (const [bytes, counted] of this.#counted) this.#add(bytes, counted);
    const reports = [...this.#batch.values()];
    this.#batch = new Map();
    this.#places.clear();
    return reports;
  }

  #add(
    bytes: ByteCounts,
    counted: { sandbox: EgressSandbox; attempt: Attempt; sent: number; received: number },
  ): void {
    const sent = bytes.bytesRead - counted.sent;
    const received = bytes.bytesWritten - counted.received;
    if (sent <= 0 && received <= 0) return;
    counted.sent = bytes.bytesRead;
    counted.received = bytes.bytesWritten;
    const report = this.#reportOf(counted.sandbox, counted.attempt);
    report.bytesSent += sent;
    report.bytesReceived += received;
  }

  #reportOf(sandbox: EgressSandbox, attempt: Attempt): EgressReport {
    const { host, address, port, outcome, rule } = attempt;
    const key = [
      sandbox.id,
      sandbox.execution,
      host,
      host === undefined ? address : '',
      port,
      outcome,
      rule,
    ].join('\n');
    const known = this.#batch.get(key);
    if (known !== undefined) return known;
    const places = this.#places.get(sandbox.id) ?? 0;
    if (places >= MAX_PLACES && host !== OTHER)
      return this.#reportOf(sandbox, { host: OTHER, port: 0, outcome, rule: OTHER });
    this.#places.set(sandbox.id, places + 1);
    const report: EgressReport = {
      sandboxId: sandbox.id,
      ...(sandbox.execution === undefined ? {} : { execution: sandbox.execution }),
      ...(host === undefined ? {} : { host }),
      ...(address === undefined ? {} : { address }),
      port,
      outcome,
      rule,
      attempts: 0,
      bytesSent: 0,
      bytesReceived: 0,
      at: this.#now(),
    };
    this.#batch.set(key, report);
    return report;
  }
}
