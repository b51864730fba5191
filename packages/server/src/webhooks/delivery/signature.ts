import { createHmac } from 'node:crypto';
import type { KeyRing } from '../../storage/keys/key-ring.js';
import type { WebhooksTable } from '../../storage/schema.js';

const BASE64_PREFIX = 'whsec_';

/** The HMAC key of a signature secret: its UTF-8 bytes, or what follows `whsec_` in base64. */
export function signatureKey(secret: string): Buffer {
  return secret.startsWith(BASE64_PREFIX)
    ? Buffer.from(secret.slice(BASE64_PREFIX.length), 'base64')
    : Buffer.from(secret, 'utf8');
}

/** Base64 of HMAC-SHA-256 over `id.timestamp.body` (Standard Webhooks). */
export function signPayload(secret: string, id: string, timestampSeconds: number, body: string): string {
  return createHmac('sha256', signatureKey(secret))
    .update(`${id}.${timestampSeconds}.${body}`)
    .digest('base64');
}

/** Returns the headers of a delivery. */
export function deliveryHeaders(delivery: {
  eventId: string;
  webhookId: string;
  attemptId: string;
  timestampSeconds: number;
  signature: string;
}): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': 'svc-webhooks/1',
    'webhook-id': delivery.eventId,
    'webhook-timestamp': String(delivery.timestampSeconds),
    'webhook-signature': `v1,${delivery.signature}`,
    'svc-webhook-id': delivery.webhookId,
    'svc-delivery-id': delivery.attemptId,
    'svc-signature-version': 'v1',
    'svc-signature': delivery.signature,
  };
}

/** Headers as they may be shown: signatures cut out. */
export function redactHeaders(headers: Record<string, string>): Record<string, string> {
  return { ...headers, 'webhook-signature': '[redacted]', 'svc-signature': '[redacted]' };
}

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
