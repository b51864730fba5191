import type { SandboxRowState } from '../../storage/schema.js';

/** The change that a caller requests of a sandbox. */
export type Action = 'pause' | 'kill' | 'snapshot' | 'fork' | 'resume' | 'connect' | 'update';

/**
 * The consequence of an action in a state.
 * `proceed`: do it. `join`: the same is under way, share its end. `wait`: wait for what is under way, then look again.
 * `extend`: it runs already. `conflict`: 409. `not-found`: 404.
 */
export type Decision = 'proceed' | 'join' | 'wait' | 'extend' | 'conflict' | 'not-found';

const TABLE: Record<Action, Record<SandboxRowState, Decision>> = {
  pause: {
    creating: 'wait',
    running: 'proceed',
    pausing: 'join',
    snapshotting: 'conflict',
    killing: 'not-found',
    paused: 'conflict',
    resuming: 'conflict',
  },
  kill: {
    creating: 'wait',
    running: 'proceed',
    pausing: 'wait',
    snapshotting: 'wait',
    killing: 'join',
    paused: 'proceed',
    resuming: 'wait',
  },
  snapshot: {
    creating: 'wait',
    running: 'proceed',
    pausing: 'conflict',
    snapshotting: 'conflict',
    killing: 'not-found',
    paused: 'not-found',
    resuming: 'conflict',
  },
  fork: {
    creating: 'wait',
    running: 'proceed',
    pausing: 'conflict',
    snapshotting: 'conflict',
    killing: 'not-found',
    paused: 'conflict',
    resuming: 'conflict',
  },
  resume: {
    creating: 'wait',
    running: 'conflict',
    pausing: 'wait',
    snapshotting: 'conflict',
    killing: 'not-found',
    paused: 'proceed',
    resuming: 'join',
  },
  connect: {
    creating: 'wait',
    running: 'extend',
    pausing: 'wait',
    snapshotting: 'wait',
    killing: 'conflict',
    paused: 'proceed',
    resuming: 'join',
  },
  update: {
    creating: 'wait',
    running: 'proceed',
    pausing: 'conflict',
    snapshotting: 'conflict',
    killing: 'not-found',
    paused: 'not-found',
    resuming: 'conflict',
  },
};

export function decide(state: SandboxRowState, action: Action): Decision {
  return TABLE[action][state];
}

/** The states that may follow each state. */
const NEXT: Record<SandboxRowState, readonly (SandboxRowState | 'deleted')[]> = {
  creating: ['running', 'deleted'],
  running: ['pausing', 'killing', 'snapshotting', 'deleted'],
  // A sandbox that is stored for a move keeps its place among the running ones.
  pausing: ['paused', 'running', 'resuming', 'killing', 'deleted'],
  snapshotting: ['running', 'killing', 'pausing', 'deleted'],
  killing: ['deleted'],
  paused: ['resuming', 'killing', 'deleted'],
  resuming: ['running', 'paused', 'deleted'],
};

export function mayFollow(from: SandboxRowState, to: SandboxRowState | 'deleted'): boolean {
  return NEXT[from].includes(to);
}

/** @throws {Error} when one state must not follow another: a fault of the server, which must not be written down. */
export function assertMayFollow(from: SandboxRowState, to: SandboxRowState | 'deleted'): void {
  if (from !== to && !mayFollow(from, to)) throw new Error(`a sandbox cannot go from ${from} to ${to}`);
}

/** Returns the state that the API shows. */
export function viewOf(state: SandboxRowState): 'running' | 'paused' | 'hidden' {
  switch (state) {
    case 'running':
    case 'snapshotting':
      return 'running';
    case 'pausing':
    case 'paused':
    case 'resuming':
      return 'paused';
    case 'creating':
    case 'killing':
      return 'hidden';
  }
}

/** Describes the conflict of an action, as the second half of a sentence about the sandbox. */
export function conflictText(state: SandboxRowState): string {
  switch (state) {
    case 'running':
      return 'is already running';
    case 'paused':
      return 'is already paused';
    case 'pausing':
      return 'is being paused';
    case 'resuming':
      return 'is being resumed';
    case 'snapshotting':
      return 'is being snapshotted';
    case 'killing':
      return 'is being killed';
    case 'creating':
      return 'is being created';
  }
}
