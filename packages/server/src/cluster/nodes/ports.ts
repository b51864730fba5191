import type { KeyRing } from '../../storage/keys/key-ring.js';
import type { Database } from '../../storage/schema.js';
import type { NodeRegistry } from './registry.js';

/** What it takes to find out which node has a sandbox. */
export interface NodePorts {
  readonly db: Database;
  readonly keys: KeyRing;
  readonly log: { warn(fields: object, message: string): void };
  readonly nodes: NodeRegistry;
  /** The sandboxes that this process holds. */
  readonly sandboxes: { get(sandboxId: string): unknown };
  readonly takeOvers: SandboxTakeOvers;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** How sandboxes of silent nodes become this one's. */
export interface SandboxTakeOvers {
  /** The take-over of a sandbox which has begun and not ended. */
  underWay(sandboxId: string): Promise<boolean> | undefined;
  /**
   * Takes over one sandbox. Never rejects.
   * @returns whether it is this node's now. False: its node lives, is on no cluster of ours, or the cluster cannot tell of it.
   */
  take(sandboxId: string): Promise<boolean>;
}
