import type { KeyRing } from '../../keys/key-ring.js';
import type { WebhooksTable } from '../../storage/schema.js';

const purpose = (webhookId: string) => `webhook:${webhookId}`;

/** The key that deliveries of a webhook are signed with, as it is stored. */
export function sealSignatureSecret(keys: KeyRing, webhookId: string, secret: string): string {
  return keys.seal(purpose(webhookId), secret);
}

/** The key that deliveries of a webhook are signed with, as its owner set it. */
export function openSignatureSecret(keys: KeyRing, row: Pick<WebhooksTable, 'id' | 'sealed_secret'>): string {
  return keys.open(purpose(row.id), row.sealed_secret);
}
