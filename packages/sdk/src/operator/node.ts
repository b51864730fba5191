/** A server that shares its database with others. */
export interface OperatedNode {
  readonly nodeId: string;
  /** `silent`: no heartbeat for 10 s; only killing its sandboxes works. `stopped`: its server stopped in order. */
  readonly state: 'alive' | 'silent' | 'stopped';
  /** Where the other nodes reach its platform API. */
  readonly apiUrl: string;
  /** Where the other nodes reach its gateway. */
  readonly sandboxUrl: string;
  /** Age of its last heartbeat, exact to the second; undefined when it stopped. */
  readonly lastSeenMs: number | undefined;
  /** Whether it gets no new sandboxes (`keep`), and those that run are paused too (`pause`). */
  readonly drain: 'no' | 'keep' | 'pause';
  /** Sandboxes that it has by the records. */
  readonly sandboxes: { readonly running: number; readonly paused: number };
  /** What it told of itself with its last heartbeat; undefined before the first. */
  readonly report: NodeReport | undefined;
}

/** How full a node is. */
export interface NodeReport {
  readonly version: string;
  readonly driver: string;
  /** Sandboxes that it runs or is about to, and the most that it may. */
  readonly running: number;
  readonly maxSandboxes: number;
  /** Sandboxes that wait in its pool. */
  readonly pooled: number;
  readonly cpuCount: number;
  /** Programs that run or want to, averaged over a minute. */
  readonly load: number;
  readonly memoryFreeMiB: number;
  readonly memoryTotalMiB: number;
  readonly diskFreeMiB: number;
}

/** What went with a node that was given up. */
export interface ForgottenNode {
  /** Sandboxes that ended. */
  readonly sandboxes: number;
  /** Snapshots and builds of templates that cannot be used any more. */
  readonly builds: number;
  /** Volumes that are gone. */
  readonly volumes: number;
}
