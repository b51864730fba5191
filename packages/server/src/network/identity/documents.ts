import type { components } from '@svc/platform';
import type { ServerConfig } from '../../config/config.js';
import type { SigningKey } from './rotation.js';

type Schemas = components['schemas'];

/** Time for which relying parties may cache the documents. A key is published for much longer before it signs. */
export const MAX_AGE_SECONDS = 3_600;

/** The document that a relying party needs to verify identity tokens (OpenID Connect Discovery). */
export function discoveryDocument(config: Parameters<typeof issuerOf>[0]): Schemas['OpenidConfiguration'] {
  const issuer = issuerOf(config);
  return {
    issuer,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    claims_supported: [
      'iss',
      'sub',
      'aud',
      'exp',
      'nbf',
      'iat',
      'jti',
      'svc:execution_id',
      'svc:template_id',
    ],
  };
}

/** The public halves of the keys. */
export function keySet(keys: readonly SigningKey[]): Schemas['JsonWebKeySet'] {
  return {
    keys: keys.map(({ kid, jwk }) => ({
      kty: 'EC',
      crv: 'P-256',
      x: jwk.x!,
      y: jwk.y!,
      kid,
      use: 'sig',
      alg: 'ES256',
    })),
  };
}

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
