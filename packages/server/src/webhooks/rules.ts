import { errors } from '../api/errors/catalog.js';

const MAX_URL_BYTES = 2048;

/**
 * Checks where events shall go.
 * @throws {ApiError} 400 unless it is an http or https URL without credentials in it
 */
export function checkWebhookUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || text.length > MAX_URL_BYTES)
    throw errors.badRequest('url: must be a valid http or https URL');
  // They would stand in the record, which every key of the team may read.
  if (url.username !== '' || url.password !== '')
    throw errors.badRequest('url: must not contain a user name or password');
  return text;
}

/** The subscribed events without repetition. */
export function distinctEvents<T extends string>(events: readonly T[]): T[] {
  return [...new Set(events)];
}
