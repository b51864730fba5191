import type { NumberedMigration } from './migration.js';

/** Keys may stop working at a time, and know what they were rotated to. */
export const keyExpiry: NumberedMigration = {
  id: '007-key-expiry',
  statements: () => [
    'alter table api_keys add column expires_at bigint',
    'alter table api_keys add column successor_id text',
  ],
};
