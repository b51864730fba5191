import type { NumberedMigration } from './migration.js';

/** Columns of ciphertext are named after their content. */
export const encryptedColumns: NumberedMigration = {
  id: '004-encrypted-columns',
  statements: () => [
    'alter table sandboxes rename column sealed to encrypted_secrets',
    'alter table template_builds rename column sealed_env_vars to encrypted_env_vars',
    'alter table secret_versions rename column sealed to encrypted_value',
    'alter table webhooks rename column sealed_secret to encrypted_secret',
  ],
};
