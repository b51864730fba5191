/** The run of a sandbox that ended. */
export interface EndedExecution {
  readonly startedAt: Date;
  readonly cpuCount: number;
  readonly memoryMiB: number;
  readonly durationMs: number;
}

/** Why a sandbox was killed. An open set. */
export type KillReason =
  | 'unknown'
  | 'request'
  | 'timeout'
  | 'admin'
  | 'orphaned'
  | 'base_template_missing'
  | 'seal_failed'
  | 'resume_failed'
  | (string & {});

interface EventBase {
  /** The same for every delivery of the event. */
  readonly id: string;
  /** Version of the payload, `v2`. */
  readonly version: string;
  readonly timestamp: Date;
  readonly sandboxId: string;
  /** Identifies the run; a resume starts a new one. */
  readonly executionId: string;
  readonly templateId: string;
  readonly buildId: string;
  readonly teamId: string;
  /** Metadata of the sandbox; empty when there is none. */
  readonly metadata: Record<string, string>;
  /** Everything the event says besides, as the wire names it. */
  readonly data: Record<string, unknown>;
}

/** A sandbox was created, a fork included. */
export interface SandboxCreatedEvent extends EventBase {
  readonly type: 'sandbox.lifecycle.created';
}
/** A sandbox was killed, or its time to live ended. */
export interface SandboxKilledEvent extends EventBase {
  readonly type: 'sandbox.lifecycle.killed';
  readonly killReason: KillReason | undefined;
  readonly execution: EndedExecution | undefined;
}
/** A sandbox was paused. */
export interface SandboxPausedEvent extends EventBase {
  readonly type: 'sandbox.lifecycle.paused';
  readonly execution: EndedExecution | undefined;
}
/** A paused sandbox runs again. */
export interface SandboxResumedEvent extends EventBase {
  readonly type: 'sandbox.lifecycle.resumed';
}
/** The time to live or the outbound rules of a sandbox changed. */
export interface SandboxUpdatedEvent extends EventBase {
  readonly type: 'sandbox.lifecycle.updated';
  /** The new end of the time to live, if that changed. */
  readonly endAt: Date | undefined;
  /** The new outbound rules, if those changed. */
  readonly networkEgress:
    | { readonly allowedCidrs: string[]; readonly deniedCidrs: string[]; readonly allowedDomains: string[] }
    | undefined;
}
/** A fork or a snapshot was taken of a sandbox. */
export interface SandboxCheckpointedEvent extends EventBase {
  readonly type: 'sandbox.lifecycle.checkpointed';
}

/** Something happened to a sandbox. Its `type` says which. */
export type LifecycleEvent =
  | SandboxCreatedEvent
  | SandboxKilledEvent
  | SandboxPausedEvent
  | SandboxResumedEvent
  | SandboxUpdatedEvent
  | SandboxCheckpointedEvent;

/** Names of the events. */
export type LifecycleEventType = LifecycleEvent['type'];
