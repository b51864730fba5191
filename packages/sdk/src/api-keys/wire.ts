import type { ApiKey as WireApiKey, CreatedApiKey as WireCreatedApiKey } from '@svc/platform';
import type { ApiKey, CreatedApiKey } from './api-key.js';

/** A key as lists show it. */
export function fromApiKey(key: WireApiKey): ApiKey {
  const { prefix, maskedValuePrefix, maskedValueSuffix } = key.mask;
  return {
    apiKeyId: key.id,
    name: key.name,
    masked: `${prefix}${maskedValuePrefix}...${maskedValueSuffix}`,
    createdAt: new Date(key.createdAt),
    lastUsedAt: key.lastUsed === null ? undefined : new Date(key.lastUsed),
    ...(key.expiresAt && { expiresAt: new Date(key.expiresAt) }),
    ...(key.successorID && { successorId: key.successorID }),
  };
}

/** A key that was just made. */
export function fromCreatedApiKey(key: WireCreatedApiKey): CreatedApiKey {
  return { ...fromApiKey(key), key: key.key };
}
