import type { Secret as WireSecret } from '@svc/platform';
import type { Secret } from './secret.js';

/** One secret. */
export function fromSecret(secret: WireSecret): Secret {
  return {
    secretId: secret.secretID,
    name: secret.name,
    currentVersion: secret.currentVersion,
    metadata: secret.metadata,
    createdAt: new Date(secret.createdAt),
    updatedAt: new Date(secret.updatedAt),
  };
}
