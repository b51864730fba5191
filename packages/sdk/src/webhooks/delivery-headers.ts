import { WebhookVerificationError } from '../errors/answer-errors.js';

/** Headers of a request: the web's own, a plain object as Node has it, or pairs. Names in any case. */
export type HeadersLike =
  | Headers
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [string, string]>;

/** The three headers that a signature needs. */
export interface SignatureHeaders {
  id: string;
  timestamp: string;
  /** One or more `v1,<base64>`, separated by spaces. */
  signature: string;
}

/** Reads the headers of Standard Webhooks. */
export function readSignatureHeaders(headers: HeadersLike): SignatureHeaders {
  const found = new Map<string, string>();
  for (const [name, value] of entriesOf(headers)) {
    if (value !== undefined)
      found.set(name.toLowerCase(), typeof value === 'string' ? value : value.join(' '));
  }
  const read = (name: string): string => {
    const value = found.get(name);
    if (value !== undefined && value !== '') return value;
    const rest = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].some((other) => found.get(other));
    throw new WebhookVerificationError(
      rest
        ? `The header ${name} is missing, though others of the delivery are there: something between may drop headers.`
        : `The header ${name} is missing: pass the headers of the request as they came. Without any webhook-* header, this is no delivery of the service.`,
    );
  };
  return {
    id: read('webhook-id'),
    timestamp: read('webhook-timestamp'),
    signature: read('webhook-signature'),
  };
}

function entriesOf(
  headers: HeadersLike,
): Iterable<readonly [string, string | readonly string[] | undefined]> {
  if (typeof headers !== 'object' || headers === null) {
    throw new WebhookVerificationError('The headers of the request are needed: an object, or Headers.');
  }
  return Symbol.iterator in headers ? headers : Object.entries(headers);
}
