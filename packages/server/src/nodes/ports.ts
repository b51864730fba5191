import type { KeyRing } from '../keys/key-ring.js';
import type { Database } from '../storage/schema.js';
import type { NodeRegistry } from './registry.js';

/** What it takes to find out which node has a sandbox. */
export interface NodePorts {
  readonly db: Database;
  readonly keys: KeyRing;
  readonly nodes: NodeRegistry;
  /** The sandboxes that this process holds. */
  readonly sandboxes: { get(sandboxId: string): unknown };
  /** Milliseconds since the epoch. */
  now(): number;
}
