import type { NumberedMigration } from './migration.js';

/**
 * Uploaded files of templates say which node has them, and the SHA-256 of their archive in hexadecimal digits. Those of before
 * say neither: only a node that finds them on its own disk has them. Builds that were deleted through another node than their own
 * are noted until that one has cleared away what it has of them.
 */
export const buildFileNodes: NumberedMigration = {
  id: '015-build-file-nodes',
  statements: () => [
    'alter table build_files add column node_id text',
    'alter table build_files add column digest text',
    `create table deleted_builds (
      build_id text primary key,
      node_id text not null,
      checkpoint_id text
    )`,
    'create index deleted_builds_node on deleted_builds (node_id)',
  ],
};
