import type { ServerConfig } from '../../config/config.js';

type Addresses = Pick<ServerConfig, 'apiUrl' | 'issuer'>;

/** The `iss` of identity tokens: a base URL at which relying parties reach this API. */
export function issuerOf(config: Addresses): string {
  return config.issuer ?? config.apiUrl;
}

/** The SPIFFE trust domain: the host of the issuer, without its port. */
export function trustDomainOf(config: Addresses): string {
  // A SPIFFE trust domain knows letters, digits, dots, dashes and underscores.
  return new URL(issuerOf(config)).hostname.replaceAll(/[^a-z0-9._-]/g, '-');
}
