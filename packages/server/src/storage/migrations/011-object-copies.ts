import type { NumberedMigration } from './migration.js';

/** The servers that have a copy of an object of another one. */
export const objectCopies: NumberedMigration = {
  id: '011-object-copies',
  statements: () => [
    `create table object_copies (
      kind text not null,
      object_id text not null,
      node_id text not null,
      size_bytes bigint not null,
      created_at bigint not null,
      primary key (kind, object_id, node_id)
    )`,
    'create index object_copies_node on object_copies (node_id)',
  ],
};
