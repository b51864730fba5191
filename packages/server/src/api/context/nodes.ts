import type { Expression, SqlBool } from 'kysely';
import type { NodeDrain, Tx } from '../../storage/schema.js';

export interface NodeRecord {
  id: string;
  apiUrl: string;
  sandboxUrl: string;
  /** Whether it says at once that it has got a request (102): servers of earlier versions do not. */
  acknowledges: boolean;
}

/** This process among those that share the database. */
export interface ThisNode {
  readonly nodeId: string;
  /** Whether other processes may share the database. */
  readonly shared: boolean;
  /** Which start of this node it is. */
  readonly epoch: number;
  /** Whether an operator drains this node. */
  readonly drain: NodeDrain;
  /** True once another process has this node's name: this one may write nothing any more. */
  readonly taken: boolean;
  /** Condition of every change of this node's sandboxes: no other process has its name. */
  fence(): Expression<SqlBool>;
  /** The same at the begin of a transaction that adds rows of this node, and until its end. @throws {Error} */
  assertHeld(tx: Tx): Promise<void>;
  /** Whether a start of a node has a heartbeat still. */
  isRunning(nodeId: string, epoch: number): Promise<boolean>;
}
