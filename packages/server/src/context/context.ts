import type { EgressAuthority } from '@svc/egress';
import type { Driver } from '@svc/runtime';
import type { FastifyBaseLogger } from 'fastify';
import type { AuditTrail } from '../audit/audit-trail.js';
import type { TeamStore } from '../auth/team-store.js';
import type { ServerConfig } from '../config/config.js';
import type { EventSink } from '../events/sink.js';
import type { StopReason } from '../gateway/contract.js';
import type { SigningKeys } from '../identity/signing-keys.js';
import type { Ids } from '../ids/ids.js';
import type { KeyRing } from '../keys/key-ring.js';
import type { RateLimiter } from '../limits/rate-limit.js';
import type { ServiceMetrics } from '../metrics/service-metrics.js';
import type { Fleet } from '../nodes/fleet.js';
import type { SandboxTakeOvers } from '../nodes/ports.js';
import type { NodeRegistry } from '../nodes/registry.js';
import type { LiveSandboxes, SandboxRepairs } from '../sandbox-state/live.js';
import type { ResolvedTemplate } from '../sandbox-state/resolved-template.js';
import type { DialectName } from '../storage/migrations/migration.js';
import type { ReadCache } from '../storage/read-cache.js';
import type { Database } from '../storage/schema.js';
import type { Tracer } from '../tracing/tracer.js';
import type { EgressLimits } from '../usage/egress-limits.js';
import type { UsageMeter } from '../usage/usage-meter.js';
import type { BuildQueue } from '../work/build-queue.js';
import type { Retries } from '../work/retries.js';
import type { ObjectCopies } from './object-copies.js';
import type { SandboxEgress, TrafficRecord } from './sandbox-egress.js';
import type { VolumeStore } from './volume-store.js';

export type Log = FastifyBaseLogger;

/** What use cases stand on. Time, ids and randomness come from here, so that tests can move them. */
export interface ServerContext {
  readonly config: ServerConfig;
  readonly db: Database;
  readonly dialect: DialectName;
  readonly driver: Driver;
  /** Milliseconds since the epoch. */
  now(): number;
  readonly ids: Ids;
  readonly keys: KeyRing;
  /** The keys of identity tokens. */
  readonly identity: Pick<SigningKeys, 'signing' | 'published'>;
  readonly log: Log;
  readonly events: EventSink;
  /** What teams use. */
  readonly usage: UsageMeter;
  readonly egressLimits: EgressLimits;
  /** Who did what. */
  readonly audit: AuditTrail;
  readonly teams: TeamStore;
  readonly rates: RateLimiter;
  /** Names this run of this process. */
  readonly processId: string;
  /** What this process knows of its running sandboxes. */
  readonly sandboxes: LiveSandboxes;
  /** Work that failed and is tried again until it is done. */
  readonly retries: Retries;
  /** Finishes or undoes changes of sandboxes that broke off. */
  readonly repairs: SandboxRepairs;
  /** The processes that share the database. */
  readonly nodes: NodeRegistry;
  /** Those of them that live, for new sandboxes. */
  readonly fleet: Fleet;
  /** How sandboxes of those that are silent become this one's. */
  readonly takeOvers: SandboxTakeOvers;
  /** Templates that references were found to mean. */
  readonly templates: ReadCache<ResolvedTemplate>;
  readonly volumes: VolumeStore;
  /** Brings here what other nodes stored. */
  readonly copies: ObjectCopies;
  /** The certificate authority that signs for hosts with rules, made on first use. */
  authority(): Promise<EgressAuthority>;
  /** What left sandboxes, and what was kept from leaving. */
  readonly traffic: TrafficRecord;
  /** Adds to it what the driver's network refused meanwhile. */
  countPackets(): Promise<void>;
  /** What rules over the connections that leave sandboxes. */
  readonly egress: SandboxEgress;
  /** Template builds of this process. */
  readonly builds: BuildQueue;
  /** Ends what clients have open to a sandbox that is about to stop. */
  sandboxClosed(sandboxId: string, reason: StopReason): void;
  /** Makes spans; undefined where nobody wants them. */
  readonly tracer?: Tracer | undefined;
  /** Counts and times what the server does; undefined where no operator port shows it. */
  readonly metrics?: ServiceMetrics | undefined;
  /** Whether the server is on its way to stop and takes no new work. */
  draining(): boolean;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

/** The few things of the context that a use case needs: it takes these, never the whole. */
export type Uses<K extends keyof ServerContext> = Pick<ServerContext, K>;
