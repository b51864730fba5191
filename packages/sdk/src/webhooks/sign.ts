import { computeSignature, importSecret } from './signature.js';

/** Content to sign, for tests of a receiver. */
export interface SignOptions {
  /** Body of the delivery, exactly as it will be sent. */
  body: string | Uint8Array;
  /** The webhook's `signatureSecret`. */
  secret: string;
  /** Identifier of the event. Default: a random UUID. */
  id?: string | undefined;
  /** Time of the attempt. Default: now. */
  timestamp?: Date | undefined;
}

/**
 * Signs a body as the service does, so that receivers can be tested without it.
 * @returns the headers to send with it
 * @throws WebhookVerificationError for a secret that is empty or not what it claims to be
 */
export async function sign(options: SignOptions): Promise<Record<string, string>> {
  const { body, secret, id = crypto.randomUUID(), timestamp = new Date() } = options;
  const seconds = String(Math.floor(timestamp.getTime() / 1000));
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signature = await computeSignature(await importSecret(secret), id, seconds, bytes);
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${signature}` };
}
