import type { Client } from 'openapi-fetch';
import type { paths } from './gen/operator.js';
import { createOpenapiClient, type FetchLike } from './openapi-client.js';

export interface OperatorClientOptions {
  /** Address of the operator port, with or without a trailing slash. */
  baseUrl: string;
  /** The operator token, sent as a bearer token. */
  token?: string | undefined;
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: FetchLike | undefined;
  /** Sent with every request; headers of one call win. */
  headers?: Record<string, string | undefined> | undefined;
}

export type OperatorClient = Client<paths>;

/** Makes a typed client of the operator API: teams, what they may use, and their keys. */
export function createOperatorClient(options: OperatorClientOptions): OperatorClient {
  const authorization = options.token === undefined ? undefined : `Bearer ${options.token}`;
  const headers = { Authorization: authorization, ...options.headers };
  return createOpenapiClient<paths>({ baseUrl: options.baseUrl, fetch: options.fetch, headers });
}
