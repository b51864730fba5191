import type { StoredObject } from '@svc/runtime/contract';
import type { StopReason } from '../gateway/contract.js';
import type { NetworkContext } from '../network/context.js';
import type { ReadCache } from '../storage/read-cache.js';
import type { TeamsContext } from '../teams/context.js';
import type { EventSink } from './events/sink.js';
import type { LiveSandboxes, SandboxRepairs } from './state/live.js';
import type { ResolvedTemplate } from './state/resolved-template.js';

/** Brings here what other nodes stored. */
export interface StoredCopies {
  /** True where objects of other nodes can be used here. */
  readonly possible: boolean;
  /** Runs what depends on an object being here, while nobody may remove it. */
  holding<T>(object: StoredObject, task: () => Promise<T>): Promise<T>;
  /**
   * Copies an object here, with what it stands on. The copy continues when the caller gives up.
   * @param from nodes that have it, beside those that have copies
   * @throws {ApiError} 503 when nobody who has it answers; {DriverError} why it cannot be used here
   */
  bring(object: StoredObject, from: readonly string[]): Promise<void>;
}

/** The context of what creates, changes and ends sandboxes. */
export interface SandboxesContext extends NetworkContext, TeamsContext {
  readonly events: EventSink;
  /** The running sandboxes that this process has. */
  readonly sandboxes: LiveSandboxes;
  /** Finishes or undoes changes of sandboxes that broke off. */
  readonly repairs: SandboxRepairs;
  /** Templates that references were resolved to. */
  readonly templates: ReadCache<ResolvedTemplate>;
  readonly copies: StoredCopies;
  /** Ends what clients have open to a sandbox that is about to stop. */
  sandboxClosed(sandboxId: string, reason: StopReason): void;
}

export type Uses<K extends keyof SandboxesContext> = Pick<SandboxesContext, K>;

/** The members that finding a sandbox and changing its row take. */
export type RowPorts = Uses<'config' | 'db' | 'events' | 'nodes' | 'repairs' | 'sandboxes'>;

/** The members that changing the state of a sandbox takes. */
export type SandboxPorts = RowPorts &
  Uses<
    | 'authority'
    | 'driver'
    | 'egress'
    | 'egressLimits'
    | 'ids'
    | 'keys'
    | 'log'
    | 'metrics'
    | 'now'
    | 'sandboxClosed'
    | 'signal'
  >;

/** The members that starting a sandbox takes, for the first time or again. */
export type StartPorts = SandboxPorts & Uses<'dialect' | 'volumes'>;
