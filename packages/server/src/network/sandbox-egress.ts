import type { EgressPolicy } from '@svc/network-policy';
import type { Instance } from '@svc/runtime/contract';
import type { SandboxConfig } from '../storage/json-shapes.js';

/** The scope in which placeholders in the rules of one run of a sandbox are resolved. */
export interface PlaceholderScope {
  subject: { id: string; team_id: string; execution_id: string; template_id: string };
  policy: EgressPolicy;
  tokens: NonNullable<SandboxConfig['iam']>['tokens'];
  /** Tokens that may be used again, by name. */
  minted: Map<string, { token: string; untilMs: number }>;
}

/** One run of what is in an instance. */
export interface EgressRun {
  execution?: string;
  /** Undefined: the kernel forwards what the instance sends, and its names are looked up for it. */
  scope?: PlaceholderScope;
}

/** Enforces policies on the connections that leave instances. */
export interface SandboxEgress {
  /**
   * Puts the policy of an instance in force, until it ends or gets another one. Until then an instance with a policy
   * sends nothing.
   * @throws {Error} when the egress process does not answer in time; it gets the policy as soon as it does.
   */
  set(instance: Instance, run: EgressRun): Promise<void>;
  /** The run that was sent last; undefined when it is another one by now. */
  runOf(sandboxId: string, execution: string | undefined): EgressRun | undefined;
  /** True while there is a process to rule that has heard of every sandbox. */
  readonly connected: boolean;
  /** The reasons why the process did not accept policies, by id of the sandbox: these send nothing. */
  readonly refused: ReadonlyMap<string, string>;
  close(): Promise<void>;
}

export interface TrafficCounts {
  /** Connections, or requests where each is decided. */
  allowed: number;
  denied: number;
  /** Allowed, but nothing came of it. */
  failed: number;
  bytesSent: number;
  bytesReceived: number;
}

export interface DestinationTraffic extends TrafficCounts {
  /** The name that was asked for; undefined: none was. */
  host: string | undefined;
  /** The target of the last connection; undefined for names that were only looked up, and without a name for refused packets. */
  address: string | undefined;
  port: number;
  /** The rule that decided last, or the failure. */
  rule: string;
  lastAtMs: number;
}

export interface SandboxTraffic {
  /** Since the server started, dropped destinations included. */
  totals: TrafficCounts;
  /** The last seen first. */
  destinations: DestinationTraffic[];
  /** Destinations that were dropped to keep the list short. */
  dropped: number;
}

/** The traffic that left sandboxes, and what was refused. */
export interface TrafficRecord {
  /** The totals of all sandboxes since the server started. */
  readonly totals: TrafficCounts;
  of(sandboxId: string): SandboxTraffic;
}
