import type { Client } from 'openapi-fetch';
import type { paths } from './gen/platform.js';
import { createOpenapiClient, type FetchLike } from './openapi-client.js';

export interface PlatformClientOptions {
  /** Address of the platform API, with or without a trailing slash. */
  baseUrl: string;
  /** Sent as `X-API-Key`. Its format is the server's business. */
  apiKey?: string | undefined;
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: FetchLike | undefined;
  /** Sent with every request; headers of one call win. */
  headers?: Record<string, string | undefined> | undefined;
}

export type PlatformClient = Client<paths>;

/**
 * Makes a typed client of the platform API. It adds nothing to what the caller says: no retries, no defaults, no
 * errors of its own except a TypeError for a path parameter that would reach another resource.
 */
export function createPlatformClient(options: PlatformClientOptions): PlatformClient {
  const headers = { 'X-API-Key': options.apiKey, ...options.headers };
  return createOpenapiClient<paths>({ baseUrl: options.baseUrl, fetch: options.fetch, headers });
}
