import { createPlatformClient, type PlatformClient } from '@svc/platform';
import type { ClientOptions } from '../config/options.js';
import type { ClientCore } from './client-core.js';
import { createCallers } from './create-callers.js';
import { PlatformCaller } from './platform-caller.js';

/**
 * Makes the parts that the resources of a client share, and the generated client that its calls to the platform use.
 * @throws InvalidRequestError for settings that make no sense, such as an address that is no URL
 */
export function createClientCore(options: ClientOptions): ClientCore & { readonly client: PlatformClient } {
  const { config, logger, engine, http } = createCallers(options);
  const { apiKey, apiUrl } = config;
  const client = createPlatformClient({
    baseUrl: apiUrl,
    apiKey,
    fetch: http.fetchFor({ service: 'platform' }),
  });
  const platform = new PlatformCaller({
    http,
    client,
    service: 'platform',
    hasCredential: apiKey !== undefined,
    credentialHint: 'no API key. Set SVC_API_KEY, or give the apiKey option: new Client({ apiKey }).',
  });
  return { config, logger, engine, http, platform, client, streams: new Set() };
}

let shared: ClientCore | undefined;

/** The core that `Sandbox.create()` and its like use: made from the environment on first use. */
export function defaultCore(): ClientCore {
  shared ??= createClientCore({});
  return shared;
}
