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
  /** The state of draining: no new sandboxes (`keep`), those that run are paused too (`pause`), or all that can leaves it (`move`). */
  readonly drain: 'no' | 'keep' | 'pause' | 'move';
  /** Progress of a node that empties itself; undefined for others, and until it has begun. */
  readonly moving: NodeMoving | undefined;
  /** Sandboxes that it has by the records. */
  readonly sandboxes: { readonly running: number; readonly paused: number };
  /** Its report with the last heartbeat; undefined before the first. */
  readonly report: NodeReport | undefined;
}

/** Objects that a node that empties itself still has. */
export interface NodeMoving {
  /** Sandboxes that are on their way, or wait for their turn. */
  readonly sandboxes: number;
  /** Snapshots and builds of templates, likewise. */
  readonly templates: number;
  /** Objects that cannot leave as things are; the first 50. The node tries again now and then. */
  readonly stays: readonly StayingObject[];
  /** Number of objects that cannot leave as things are. */
  readonly staysTotal: number;
}

/** Something that cannot leave a node. */
export interface StayingObject {
  /** `template`: a snapshot, or a build of a template. */
  readonly kind: 'sandbox' | 'template' | 'volume';
  readonly id: string;
  /** Why it stays, as a sentence. */
  readonly reason: string;
}

/** The load of a node. */
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

/** Objects that were lost with a node that was given up. */
export interface ForgottenNode {
  /** Sandboxes that ended. */
  readonly sandboxes: number;
  /** Snapshots and builds of templates that cannot be used any more. */
  readonly builds: number;
  /** Volumes that are lost. */
  readonly volumes: number;
}
