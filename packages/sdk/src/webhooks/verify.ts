import type { WebhookPayload } from '@svc/platform';
import { WebhookVerificationError } from '../errors/answer-errors.js';
import type { LifecycleEvent } from '../events/lifecycle-event.js';
import { type HeadersLike, readSignatureHeaders } from './delivery-headers.js';
import { computeSignature, equalInConstantTime, importSecret } from './signature.js';
import { fromPayload } from './wire.js';

/** The body of a delivery exactly as it came. */
export type RawBody = string | Uint8Array | ArrayBuffer;

/** The strictness of a verification. */
export interface VerifyOptions {
  /** Largest difference between the clocks, ms. Default 300 000 (5 minutes). Infinity: any. */
  toleranceMs?: number | undefined;
  /** The time it is. Default: now. */
  now?: Date | undefined;
}

const defaultToleranceMs = 5 * 60_000;

/**
 * Checks that a delivery comes from the service and is fresh: Standard Webhooks, HMAC-SHA-256. A delivery comes at
 * least once: `id` is the same each time, by which repeats are recognised.
 * @param body exactly as it came: parsing and writing it again changes it
 * @param secret the webhook's `signatureSecret`, or several while it is being changed
 * @throws WebhookVerificationError which says what probably is wrong
 * @wire webhook delivery
 */
export async function verify(
  body: RawBody,
  headers: HeadersLike,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<{ id: string; timestamp: Date }> {
  const bytes = bytesOf(body);
  const { id, timestamp, signature } = readSignatureHeaders(headers);
  const sentAt = checkTime(timestamp, options);
  const given = signature.split(' ').filter((part) => part.startsWith('v1,'));
  if (given.length === 0) {
    throw new WebhookVerificationError(
      'The header webhook-signature holds no signature of version v1: this version of the SDK may be too old for it.',
    );
  }
  const secrets = typeof secret === 'string' ? [secret] : secret;
  if (secrets === undefined || secrets.length === 0) await importSecret('');
  for (const candidate of secrets) {
    const key = await importSecret(candidate);
    const expected = await computeSignature(key, id, timestamp, bytes);
    if (given.some((part) => equalInConstantTime(part.slice('v1,'.length), expected)))
      return { id, timestamp: sentAt };
    await explainRewrite(key, { id, timestamp, given, bytes });
  }
  throw new WebhookVerificationError(
    'The signature does not match. Most often the secret is not the signatureSecret of this webhook (another webhook, another ' +
      'environment, a stray space), or the body is not the raw one: pass it as it came, before any JSON parser or proxy changed it.',
  );
}

/**
 * Verifies a delivery as `verify` does and gives its event.
 * @throws WebhookVerificationError
 * @wire webhook delivery
 */
export async function unwrap(
  body: RawBody,
  headers: HeadersLike,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<LifecycleEvent> {
  await verify(body, headers, secret, options);
  try {
    return fromPayload(JSON.parse(new TextDecoder().decode(bytesOf(body))) as WebhookPayload);
  } catch (cause) {
    throw new WebhookVerificationError('The delivery is genuine, but its body is not JSON.', { cause });
  }
}

function bytesOf(body: RawBody): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new WebhookVerificationError(
    'The body must be the raw text or bytes of the request, not a parsed object: a body that was parsed and written again ' +
      'has another signature. In Express use express.raw({ type: "application/json" }); in a fetch handler, await request.text().',
  );
}

function checkTime(timestamp: string, options: VerifyOptions): Date {
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
  if (Number.isNaN(seconds)) {
    throw new WebhookVerificationError('The header webhook-timestamp is not a Unix time in seconds.');
  }
  const { toleranceMs = defaultToleranceMs, now = new Date() } = options;
  const ageMs = now.getTime() - seconds * 1000;
  if (Math.abs(ageMs) > toleranceMs) {
    const age = Math.round(Math.abs(ageMs) / 1000);
    throw new WebhookVerificationError(
      ageMs > 0
        ? `The delivery is ${age} s old; at most ${toleranceMs / 1000} s are allowed (toleranceMs). It was replayed or held up, or this machine's clock is ahead.`
        : `The delivery is from ${age} s in the future; at most ${toleranceMs / 1000} s are allowed (toleranceMs). This machine's clock is behind.`,
    );
  }
  return new Date(seconds * 1000);
}

/** Recognises the commonest mistake by trying it: the signature fits the body once its JSON is written compactly. */
async function explainRewrite(
  key: CryptoKey,
  delivery: { id: string; timestamp: string; given: string[]; bytes: Uint8Array },
): Promise<void> {
  const text = new TextDecoder().decode(delivery.bytes);
  let compact: string;
  try {
    compact = JSON.stringify(JSON.parse(text));
  } catch {
    return;
  }
  for (const variant of [compact, text.trim()]) {
    if (variant === text) continue;
    const signature = await computeSignature(
      key,
      delivery.id,
      delivery.timestamp,
      new TextEncoder().encode(variant),
    );
    if (delivery.given.some((part) => equalInConstantTime(part.slice('v1,'.length), signature))) {
      throw new WebhookVerificationError(
        'The body was parsed and written again before it got here: the secret is right, but the bytes changed (spaces or line ' +
          'ends). Pass the raw body: in Express express.raw({ type: "application/json" }), in a fetch handler await request.text().',
      );
    }
  }
}
