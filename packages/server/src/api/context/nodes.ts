import type { Expression, SqlBool } from 'kysely';
import type { NodeDrain, Tx } from '../../storage/schema.js';

export interface NodeRecord {
  id: string;
  apiUrl: string;
  sandboxUrl: string;
  /** True when it acknowledges a request at once (102): servers of earlier versions do not. */
  acknowledges: boolean;
}

/** This process among those that share the database. */
export interface ThisNode {
  readonly nodeId: string;
  /** True when other processes may share the database. */
  readonly shared: boolean;
  /** The number of this start of the node. */
  readonly epoch: number;
  /** The order of an operator to drain this node. */
  readonly drain: NodeDrain;
  /** True once another process has this node's name: this one may write nothing any more. */
  readonly taken: boolean;
  /** Condition of every change of this node's sandboxes: no other process has its name. */
  fence(): Expression<SqlBool>;
  /** Checks the same at the begin of a transaction that adds rows of this node, and until its end. @throws {Error} */
  assertOwned(tx: Tx): Promise<void>;
  /** Returns whether a start of a node still has a heartbeat. */
  isRunning(nodeId: string, epoch: number): Promise<boolean>;
}
