import type { NumberedMigration } from './migration.js';

/** Volumes say which node has their files. */
export const volumeNodes: NumberedMigration = {
  id: '008-volume-nodes',
  statements: () => ['alter table volumes add column node_id text'],
};
