import type { StoredConfig } from './config-file.js';

/** Where a setting came from. */
export type Source = 'option' | 'environment' | 'settings' | 'local server' | 'default';

/** Addresses of a service. */
export interface Addresses {
  apiUrl?: string;
  sandboxUrl?: string;
  domain?: string;
}

/** The service to talk to, and who says so. */
export interface Connection extends Addresses {
  apiKey?: string;
  keyFrom: Source | undefined;
  addressFrom: Source;
}

export interface ConnectionInputs {
  options: Addresses;
  env: Record<string, string | undefined>;
  config: StoredConfig;
  /** The local server, when one runs or ran. */
  local: (Addresses & { apiKey?: string }) | undefined;
}

/**
 * Chooses key and addresses: option, environment, settings, local server. Addresses are taken from one source as a
 * whole, because the API of one service and the gateway of another give nothing that works. Pure.
 */
export function resolveConnection({ options, env, config, local }: ConnectionInputs): Connection {
  const environment = addresses({
    apiUrl: env.SVC_API_URL,
    sandboxUrl: env.SVC_SANDBOX_URL,
    domain: env.SVC_DOMAIN,
  });
  const candidates: [Source, Addresses | undefined][] = [
    ['option', addresses(options)],
    ['environment', environment],
    ['settings', addresses(config)],
    ['local server', local && addresses(local)],
  ];
  const [addressFrom, found] =
    candidates.find(([, value]) => value !== undefined) ?? (['default', {}] as const);
  const isLocal = addressFrom === 'local server' || sameOrigin(found?.apiUrl, local?.apiUrl);
  const key = chooseKey(env, config, local?.apiKey, isLocal, addressFrom);
  // A local server's gateway is known even when only the address of its API was said.
  const gateway = isLocal && found?.sandboxUrl === undefined ? local?.sandboxUrl : found?.sandboxUrl;
  return {
    ...found,
    ...(gateway === undefined ? {} : { sandboxUrl: gateway }),
    ...(key.apiKey === undefined ? {} : { apiKey: key.apiKey }),
    keyFrom: key.from,
    addressFrom,
  };
}

function chooseKey(
  env: Record<string, string | undefined>,
  config: StoredConfig,
  localKey: string | undefined,
  isLocal: boolean,
  addressFrom: Source,
): { apiKey?: string; from: Source | undefined } {
  if (env.SVC_API_KEY) return { apiKey: env.SVC_API_KEY, from: 'environment' };
  if (config.apiKey) return { apiKey: config.apiKey, from: 'settings' };
  // A local server's key never goes to another address.
  if (localKey && (isLocal || addressFrom === 'default')) return { apiKey: localKey, from: 'local server' };
  return { from: undefined };
}

function addresses({
  apiUrl,
  sandboxUrl,
  domain,
}: { [Key in keyof Addresses]: string | undefined }): Addresses | undefined {
  if (!apiUrl && !sandboxUrl && !domain) return undefined;
  return {
    ...(apiUrl ? { apiUrl } : {}),
    ...(sandboxUrl ? { sandboxUrl } : {}),
    ...(domain ? { domain } : {}),
  };
}

function sameOrigin(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined || !URL.canParse(a) || !URL.canParse(b)) return false;
  const origin = (text: string) => new URL(text).origin.replace('//localhost', '//127.0.0.1');
  return origin(a) === origin(b);
}
