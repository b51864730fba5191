import type { Config } from './resolve-config.js';

/** The settings that say where sandboxes are. */
export type AddressConfig = Pick<Config, 'sandboxUrl' | 'domain' | 'debug' | 'apiUrl' | 'runtimeKind'>;

/** Facts from which the address of a sandbox follows. */
export interface SandboxPlace {
  sandboxId: string;
  /** Domain that the sandbox reported; it wins over the configured one. */
  domain?: string | undefined;
}

/** Address that serves a port of a sandbox together with the routing headers `Svc-Sandbox-Id` and `Svc-Sandbox-Port`. */
export function routedUrl(config: AddressConfig, place: SandboxPlace, port: number): string {
  if (config.sandboxUrl !== undefined) return config.sandboxUrl;
  if (config.debug) return `http://localhost:${port}`;
  // Pages cannot rely on the shared host: the host of the port itself keeps their requests of one origin.
  return config.runtimeKind === 'browser'
    ? directUrl(config, place, port)
    : `https://sandbox.${domainOf(config, place)}`;
}

/** Host of a port of a sandbox: `<port>-<sandboxId>.<domain>`; in debug mode `localhost:<port>`. */
export function directHost(config: AddressConfig, place: SandboxPlace, port: number): string {
  return config.debug ? `localhost:${port}` : `${port}-${place.sandboxId}.${domainOf(config, place)}`;
}

/** Address of a port of a sandbox that needs no header. */
export function directUrl(config: AddressConfig, place: SandboxPlace, port: number): string {
  const scheme = config.debug || config.sandboxUrl?.startsWith('http:') ? 'http' : 'https';
  return `${scheme}://${directHost(config, place, port)}`;
}

/** Domain that a server on this machine uses by default. */
const localDomain = 'svc.localhost';

/** The sandbox's domain, with the port of a gateway that has its own. */
function domainOf(config: AddressConfig, place: SandboxPlace): string {
  const gateway = config.sandboxUrl === undefined ? undefined : new URL(config.sandboxUrl);
  const known = place.domain ?? config.domain;
  if (known !== undefined) return gateway?.port && !known.includes(':') ? `${known}:${gateway.port}` : known;
  if (gateway === undefined) return localDomain;
  const isLocal = gateway.hostname === 'localhost' || /^(127\.|\[)/.test(gateway.hostname);
  return isLocal ? `${localDomain}${gateway.port ? `:${gateway.port}` : ''}` : gateway.host;
}
