import type { SandboxesContext, StoredCopies } from '../sandboxes/context.js';
import type { IdleBuilds } from '../storage/builds/sweep-layers.js';
import type { Fleet } from './nodes/fleet.js';
import type { NodeForwarder } from './nodes/forwarder.js';
import type { SandboxTakeOvers } from './nodes/ownership.js';
import type { NodeRegistry } from './nodes/registry.js';

/** Brings here what other nodes stored. */
export interface ObjectCopies extends StoredCopies {
  /** Asks other nodes. */
  readonly forwarder: NodeForwarder;
  close(): void;
}

/** The template builds of this process. */
export interface LocalBuilds extends IdleBuilds {
  /** Builds that run or wait here. */
  readonly ids: string[];
  readonly size: number;
  /** Ends a build of this process; one that it does not know is no error. Settles when it has ended. */
  cancel(buildId: string, reason: Error): Promise<void>;
}

/** The context of what several nodes do together. */
export interface ClusterContext extends SandboxesContext {
  /** The processes that share the database. */
  readonly nodes: NodeRegistry;
  /** The nodes that live, for new sandboxes. */
  readonly fleet: Fleet;
  /** Makes sandboxes of silent nodes this node's. */
  readonly takeOvers: SandboxTakeOvers;
  readonly copies: ObjectCopies;
  readonly builds: LocalBuilds;
}

export type Uses<K extends keyof ClusterContext> = Pick<ClusterContext, K>;
