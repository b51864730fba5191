import type { KeyRing } from '../../storage/keys/key-ring.js';
import type { WebhooksTable } from '../../storage/schema.js';

const purpose = (webhookId: string) => `webhook:${webhookId}`;

/** The key that deliveries of a webhook are signed with, as it is stored. */
export function encryptSignatureSecret(keys: KeyRing, webhookId: string, secret: string): string {
  return keys.encrypt(purpose(webhookId), secret);
}

/** The key that deliveries of a webhook are signed with, as its owner set it. */
export function decryptSignatureSecret(
  keys: KeyRing,
  row: Pick<WebhooksTable, 'id' | 'encrypted_secret'>,
): string {
  return keys.decrypt(purpose(row.id), row.encrypted_secret);
}
