import type { Driver, VolumeContent } from '@svc/runtime/contract';
import type { FastifyBaseLogger } from 'fastify';
import type { ServerConfig } from '../../config/config.js';
import type { Ids } from '../../config/ids.js';
import type { KeyRing } from '../../storage/keys/key-ring.js';
import type { DialectName } from '../../storage/migrations/migration.js';
import type { Database } from '../../storage/schema.js';
import type { AuditTrail } from '../audit/audit-trail.js';
import type { TeamStore } from '../auth/team-store.js';
import type { RateLimiter } from '../limits/rate-limit.js';
import type { ThisNode } from './nodes.js';
import type { Retries } from './retries.js';
import type { ServiceMetrics } from './service-metrics.js';
import type { Tracer } from './tracer.js';

export type Log = FastifyBaseLogger;

/**
 * The part of the server's context that every room may use. The `context.ts` of a room adds what the room provides. Time, ids and
 * randomness come from here, so that tests can move them.
 */
export interface BaseContext {
  readonly config: ServerConfig;
  readonly db: Database;
  readonly dialect: DialectName;
  readonly driver: Driver;
  /** Milliseconds since the epoch. */
  now(): number;
  readonly ids: Ids;
  readonly keys: KeyRing;
  readonly log: Log;
  /** The record of who did what. */
  readonly audit: AuditTrail;
  readonly teams: TeamStore;
  readonly rates: RateLimiter;
  /** Names this run of this process. */
  readonly processId: string;
  /** Work that failed and is tried again until it is done. */
  readonly retries: Retries;
  /** This process among those that share the database. */
  readonly nodes: ThisNode;
  readonly volumes: VolumeStore;
  /** Makes spans; undefined where tracing is off. */
  readonly tracer?: Tracer | undefined;
  /** Counts and times what the server does; undefined where no operator port shows it. */
  readonly metrics?: ServiceMetrics | undefined;
  /** True while the server stops and takes no new work. */
  draining(): boolean;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

/** The few members of the context that a use case needs: it takes these, never the whole. */
export type Uses<K extends keyof BaseContext> = Pick<BaseContext, K>;

/** The volumes of this server's teams; the driver keeps their files. */
export interface VolumeStore {
  /** Makes a volume's directory when it is missing, and sets its limit. @throws {DriverError} `storage_full` */
  prepare(volumeId: string): Promise<void>;
  /** The files of a volume, which is prepared first. */
  content(volumeId: string): Promise<VolumeContent>;
  /** Bytes that a volume takes; 0 where nobody counts them. */
  usedBytes(volumeId: string): Promise<number>;
  /** Removes a volume's files; while a sandbox has it mounted and still uses it, {@link emptyTrash} does it after its end. */
  discard(volumeId: string): Promise<void>;
  /** Removes what no team has and no sandbox has mounted any more. */
  emptyTrash(): Promise<void>;
}
