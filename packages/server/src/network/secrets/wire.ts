import type { components } from '@svc/platform';
import { isoTime } from '../../api/wire/time.js';
import { fromJson } from '../../storage/json.js';
import type { SecretsTable } from '../../storage/schema.js';

/** The record as the API shows it. The value is no part of it. */
export function secretToWire(row: SecretsTable): components['schemas']['Secret'] {
  return {
    secretID: row.id,
    name: row.name,
    currentVersion: row.current_version,
    metadata: fromJson(row.metadata),
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}
