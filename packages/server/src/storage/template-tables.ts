import type { EncryptedJson, Json } from './json.js';
import type { BuildReason } from './json-shapes.js';

export interface TemplatesTable {
  id: string;
  team_id: string;
  kind: 'template' | 'snapshot';
  public: number;
  /** 1: other teams may start from stored memory of sandboxes too. */
  public_memory: number;
  /** The sandbox that a snapshot was taken of. */
  source_sandbox_id: string | null;
  created_at: number;
  updated_at: number;
  last_spawned_at: number | null;
  spawn_count: number;
  build_count: number;
}

export interface TemplateAliasesTable {
  /** Slug of the owning team, or '' for a name that everybody may use without a namespace. */
  namespace: string;
  alias: string;
  template_id: string;
  created_at: number;
}

/**
 * Every assignment of a tag, old ones included: a tag means the build assigned last, and sandboxes are created from
 * the last assigned build that is ready, so that a rebuild does not break creates while it runs.
 */
export interface TemplateTagsTable {
  template_id: string;
  tag: string;
  build_id: string;
  created_at: number;
}

export type BuildRowStatus = 'waiting' | 'building' | 'ready' | 'error';

export interface TemplateBuildsTable {
  id: string;
  template_id: string;
  team_id: string;
  status: BuildRowStatus;
  version: number;
  cpu_count: number;
  memory_mb: number;
  disk_mb: number;
  envd_version: string | null;
  /** Layer ids from the lowest up; empty: the driver's base. */
  layers: Json<string[]>;
  /** Set when the build is a snapshot: sandboxes are restored from it. */
  checkpoint_id: string | null;
  checkpoint_memory: number;
  /** The source of a snapshot: the sandbox whose token the daemon in the stored memory knows. */
  source_sandbox_id: string | null;
  node_id: string | null;
  /** Environment variables that sandboxes start with. */
  env_vars: Json<Record<string, string>>;
  /** Variables of the sandbox that a snapshot was taken of. */
  encrypted_env_vars: EncryptedJson<Record<string, string>> | null;
  default_user: string | null;
  default_workdir: string | null;
  start_command: string | null;
  ready_command: string | null;
  /** The start request, secrets removed; null before the start. */
  definition: Json<unknown> | null;
  /** Null unless failed. */
  reason: Json<BuildReason> | null;
  created_at: number;
  updated_at: number;
  finished_at: number | null;
}

export interface BuildLogsTable {
  build_id: string;
  seq: number;
  at: number;
  level: number;
  message: string;
  step: string | null;
}

export interface BuildFilesTable {
  template_id: string;
  hash: string;
  size_bytes: number;
  created_at: number;
  /** The node that they were uploaded to last; null of those from before that was recorded. */
  node_id: string | null;
  /** SHA-256 of the archive in hexadecimal digits; null likewise. */
  digest: string | null;
}

/** Builds that were deleted, for the node that made them: it has yet to clear away what it has of them. */
export interface DeletedBuildsTable {
  build_id: string;
  node_id: string;
  checkpoint_id: string | null;
}

export interface LayersTable {
  /** Cache key of a build step. */
  key: string;
  team_id: string;
  node_id: string;
  layer_id: string;
  size_bytes: number;
  created_at: number;
  last_used_at: number;
}
