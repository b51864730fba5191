import type { components } from '@svc/platform';
import type { ObjectKind } from '@svc/runtime/contract';
import type { Generated, Kysely, Selectable, Transaction } from 'kysely';
import type { TeamFlags, TeamLimits } from '../config/team-limits.js';
import type { EncryptedJson, Json } from './json.js';
import type { ApiKeyMask, AttemptDetail, NodeReport, SandboxConfig, SandboxSecrets } from './json-shapes.js';
import type {
  BuildFilesTable,
  BuildLogsTable,
  DeletedBuildsTable,
  LayersTable,
  TemplateAliasesTable,
  TemplateBuildsTable,
  TemplatesTable,
  TemplateTagsTable,
} from './template-tables.js';

export type {
  BuildLogsTable,
  BuildRowStatus,
  TemplateBuildsTable,
  TemplatesTable,
} from './template-tables.js';

/**
 * The tables, as Kysely sees them. One shape for both dialects: times are integer ms since the epoch, flags are 0 or 1,
 * structured values are JSON text ({@link Json}), ciphertext is base64url text.
 */
export interface Schema {
  teams: TeamsTable;
  api_keys: ApiKeysTable;
  nodes: NodesTable;
  settings: SettingsTable;
  sandboxes: SandboxesTable;
  sandbox_metadata: SandboxMetadataTable;
  checkpoints: CheckpointsTable;
  templates: TemplatesTable;
  template_aliases: TemplateAliasesTable;
  template_tags: TemplateTagsTable;
  template_builds: TemplateBuildsTable;
  build_logs: BuildLogsTable;
  build_files: BuildFilesTable;
  deleted_builds: DeletedBuildsTable;
  layers: LayersTable;
  secrets: SecretsTable;
  secret_versions: SecretVersionsTable;
  volumes: VolumesTable;
  webhooks: WebhooksTable;
  webhook_deliveries: WebhookDeliveriesTable;
  webhook_attempts: WebhookAttemptsTable;
  events: EventsTable;
  sandbox_logs: SandboxLogsTable;
  log_cursors: LogCursorsTable;
  sandbox_metrics: SandboxMetricsTable;
  idempotency: IdempotencyTable;
  audit_entries: AuditEntriesTable;
  team_usage: TeamUsageTable;
  team_running: TeamRunningTable;
  object_copies: ObjectCopiesTable;
}

export type Database = Kysely<Schema>;
export type Tx = Transaction<Schema>;

export interface TeamsTable {
  id: string;
  slug: string;
  name: string;
  /** Only what differs from the server's defaults. */
  limits: Json<Partial<TeamLimits>>;
  flags: Json<Partial<TeamFlags>>;
  banned: number;
  blocked: number;
  blocked_reason: string | null;
  created_at: number;
}

export interface ApiKeysTable {
  id: string;
  team_id: string;
  name: string;
  /** Lower-case hex SHA-256 over the 20 decoded bytes. */
  hash: string;
  /** The parts of the key that may be shown: prefix, length, first and last characters. */
  mask: Json<ApiKeyMask>;
  created_at: number;
  /** Exact to the minute; null when it was never used. */
  last_used_at: number | null;
  /** Its expiry; null: none. */
  expires_at: number | null;
  /** Id of the key that it was rotated to. It may be deleted since. */
  successor_id: string | null;
}

export interface NodesTable {
  id: string;
  api_url: string;
  sandbox_url: string;
  /** The last heartbeat by the clock of the database; 0: it left. */
  heartbeat_at: number;
  /** Counts its starts: an earlier process of this name may write nothing any more. */
  epoch: Generated<number>;
  drain: Generated<NodeDrain>;
  report: Generated<Json<Partial<NodeReport>>>;
}

/** `keep`: it gets no new sandboxes. `pause`: those that run are paused too. `move`: all that can leaves for other nodes. */
export type NodeDrain = 'no' | 'keep' | 'pause' | 'move';

export interface SettingsTable {
  key: string;
  value: string;
}

export type SandboxRowState =
  | 'creating'
  | 'running'
  | 'pausing'
  | 'snapshotting'
  | 'killing'
  | 'paused'
  | 'resuming';

export interface SandboxesTable {
  id: string;
  team_id: string;
  /** Resolved id of the base template. */
  template_id: string;
  build_id: string;
  /** A new UUID for each run: create, resume, fork. */
  execution_id: string;
  alias: string | null;
  state: SandboxRowState;
  /** The state that the API shows; `hidden` while it is being made or killed. */
  view: 'running' | 'paused' | 'hidden';
  /** Counts up with each change of the row; a change names the value it saw. */
  version: number;
  node_id: string;
  /** Id of the driver's instance; null when there is none. */
  instance_id: string | null;
  /** The source of a resume; null for a fresh or frozen one. */
  checkpoint_id: string | null;
  /** 1: the paused state holds memory. */
  paused_memory: number;
  /** Counts up each time that the daemon got a new token. */
  daemon_generation: number;
  created_at: number;
  started_at: number;
  end_at: number;
  paused_at: number | null;
  /** Seconds asked for at create; auto-resume starts from it. */
  timeout_seconds: number;
  cpu_count: number;
  memory_mb: number;
  disk_mb: number;
  envd_version: string;
  /** Null when unset. */
  metadata: Json<Record<string, string>> | null;
  config: Json<SandboxConfig>;
  /** Null when there is nothing to hide. */
  encrypted_secrets: EncryptedJson<SandboxSecrets> | null;
}

export interface SandboxMetadataTable {
  sandbox_id: string;
  key: string;
  value: string;
}

export interface CheckpointsTable {
  id: string;
  node_id: string;
  team_id: string;
  /** `sandbox`: the paused state of one. `build`: what a snapshot template starts from. `fork`: passing. */
  owner_kind: 'sandbox' | 'build' | 'fork';
  owner_id: string;
  memory: number;
  size_bytes: number;
  created_at: number;
}

/** Copies of what another node stored; where it was made stands in the row of what it belongs to. */
export interface ObjectCopiesTable {
  kind: ObjectKind;
  object_id: string;
  node_id: string;
  size_bytes: number;
  created_at: number;
}

export interface SecretsTable {
  id: string;
  team_id: string;
  name: string;
  current_version: number;
  metadata: Json<Record<string, string>>;
  created_at: number;
  updated_at: number;
}

export interface SecretVersionsTable {
  secret_id: string;
  version: number;
  encrypted_value: string;
  created_at: number;
}

export interface VolumesTable {
  id: string;
  team_id: string;
  name: string;
  created_at: number;
  /** The node that has its files. Null: one of an earlier version, until a node that has them starts. */
  node_id: string | null;
}

export interface WebhooksTable {
  id: string;
  team_id: string;
  name: string;
  url: string;
  enabled: number;
  /** Names of events. */
  events: Json<components['schemas']['WebhookEvents']>;
  encrypted_secret: string;
  created_at: number;
  updated_at: number;
}

export interface WebhookDeliveriesTable {
  id: string;
  webhook_id: string;
  team_id: string;
  event_seq: number;
  event_id: string;
  event_type: string;
  sandbox_id: string;
  status: 'pending' | 'success' | 'failed';
  /** All that were made. */
  attempts: number;
  next_attempt_at: number;
  created_at: number;
  updated_at: number;
  /** When it was last asked for again; null when never. What was is outside the order of its sandbox. */
  redelivered_at: number | null;
  /** The number of attempts before that: the waiting times between them begin anew. */
  earlier_attempts: Generated<number>;
  /** 1 while an earlier one of its webhook and sandbox is open. Triggers keep it. */
  waits: Generated<number>;
}

export type WebhookDelivery = Selectable<WebhookDeliveriesTable>;

export interface WebhookAttemptsTable {
  id: string;
  delivery_id: string;
  attempt: number;
  started_at: number;
  duration_ms: number;
  response_status: number | null;
  error_class: string | null;
  /** Headers and bodies, cut and redacted. */
  detail: Json<AttemptDetail>;
}

export interface EventsTable {
  seq: Generated<number>;
  id: string;
  team_id: string;
  sandbox_id: string;
  execution_id: string;
  template_id: string;
  build_id: string;
  type: string;
  at: number;
  /** `event_data` of the payload. */
  data: Json<Record<string, unknown>>;
  /** 1 once deliveries were written for every subscribed webhook. */
  dispatched: number;
}

export interface SandboxLogsTable {
  sandbox_id: string;
  team_id: string;
  seq: number;
  at: number;
  /** 0 debug, 1 info, 2 warn, 3 error. */
  level: number;
  message: string;
  fields: Json<Record<string, string>>;
}

export interface LogCursorsTable {
  sandbox_id: string;
  team_id: string;
  execution_id: string;
  /** Last daemon sequence number taken over. */
  daemon_seq: number;
  /** Next own sequence number. */
  next_seq: number;
  size_bytes: number;
  updated_at: number;
}

export interface SandboxMetricsTable {
  sandbox_id: string;
  team_id: string;
  at: number;
  cpu_count: number;
  cpu_used_pct: number;
  mem_used: number;
  mem_total: number;
  mem_cache: number;
  disk_used: number;
  disk_total: number;
  /** The time that the sample stands for, ending at `at`, ms; 0: one reading. */
  span_ms: Generated<number>;
}

export interface IdempotencyTable {
  team_id: string;
  key: string;
  request_hash: string;
  /** Null while the first request is running. */
  response_status: number | null;
  /** The answer, or the failure; null while running. */
  response: EncryptedJson<unknown> | null;
  owner: string;
  created_at: number;
}

export interface AuditEntriesTable {
  /** A UUID of version 7: its first 48 bits are `at`. */
  id: string;
  at: number;
  actor_kind: 'key' | 'operator' | 'system';
  /** Id of the key, or why the service acted by itself. */
  actor_id: string | null;
  /** `operationId` of the document. */
  operation: string;
  resource_kind: string | null;
  resource_id: string | null;
  team_id: string | null;
  /** HTTP status of the outcome; null until it is known. */
  status: number | null;
  finished_at: number | null;
  request_id: string | null;
  client_address: string | null;
  node_id: string;
}

export interface TeamUsageTable {
  team_id: string;
  /** Beginning of the hour. */
  hour: number;
  /** Time that sandboxes ran, all added up. */
  sandbox_ms: number;
  /** The same, each times its memory. */
  memory_mib_ms: number;
  egress_bytes: number;
  creates: number;
}

/** The running sandboxes of a team. Triggers on `sandboxes` keep it: nothing else writes it, except `repairTeamRunning`. */
export interface TeamRunningTable {
  team_id: string;
  sandboxes: number;
  /** Of all of them together. */
  memory_mb: number;
}
