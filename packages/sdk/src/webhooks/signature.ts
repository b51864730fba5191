import { WebhookVerificationError } from '../errors/answer-errors.js';

/** Computes the base64 HMAC-SHA-256 of a delivery: over `<id>.<timestamp>.<body>`, as Standard Webhooks has it. */
export async function computeSignature(
  key: CryptoKey,
  id: string,
  timestamp: string,
  body: Uint8Array,
): Promise<string> {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(head.length + body.length);
  signed.set(head);
  signed.set(body, head.length);
  const digest = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed));
  return btoa(String.fromCharCode(...digest));
}

/** The key of a webhook's secret: its UTF-8 bytes; after `whsec_`, the base64-decoded rest. */
export async function importSecret(secret: string): Promise<CryptoKey> {
  if (typeof secret !== 'string' || secret === '') {
    throw new WebhookVerificationError(
      'No webhook secret was given. Pass the signatureSecret that the webhook was created with; is its environment variable set?',
    );
  }
  return crypto.subtle.importKey('raw', keyBytes(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
}

function keyBytes(secret: string): Uint8Array<ArrayBuffer> {
  if (!secret.startsWith('whsec_')) return new Uint8Array(new TextEncoder().encode(secret));
  try {
    return Uint8Array.from(atob(secret.slice('whsec_'.length)), (character) => character.charCodeAt(0));
  } catch (cause) {
    throw new WebhookVerificationError('What follows whsec_ in the webhook secret is not base64.', { cause });
  }
}

/** Compares two texts in a time that does not reveal where they differ. */
export function equalInConstantTime(left: string, right: string): boolean {
  let difference = left.length ^ right.length;
  for (let index = 0; index < right.length; index++) {
    difference |= left.charCodeAt(index % Math.max(1, left.length)) ^ right.charCodeAt(index);
  }
  return difference === 0;
}
