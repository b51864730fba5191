import type { Client } from 'openapi-fetch';
import type { paths } from './gen/volumes.js';
import { createOpenapiClient, type FetchLike } from './openapi-client.js';

export interface VolumesClientOptions {
  /** Address of the volume content API, with or without a trailing slash. */
  baseUrl: string;
  /** Token of one volume, from `createVolume` or `getVolume`. */
  token?: string | undefined;
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: FetchLike | undefined;
  /** Sent with every request; headers of one call win. */
  headers?: Record<string, string | undefined> | undefined;
}

export type VolumesClient = Client<paths>;

/** Makes a typed client for the files of a volume. Reads and writes stream when called with `parseAs: 'stream'`. */
export function createVolumesClient(options: VolumesClientOptions): VolumesClient {
  const authorization = options.token === undefined ? undefined : `Bearer ${options.token}`;
  const headers = { Authorization: authorization, ...options.headers };
  return createOpenapiClient<paths>({ baseUrl: options.baseUrl, fetch: options.fetch, headers });
}
