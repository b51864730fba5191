import type { NumberedMigration } from './migration.js';

/** Daemons get a new token after each memory image, and memory of sandboxes is published only by name. */
export const daemonGeneration: NumberedMigration = {
  id: '003-daemon-generation',
  statements: () => [
    'alter table sandboxes add column daemon_generation bigint not null default 0',
    'alter table templates add column public_memory bigint not null default 0',
  ],
};
