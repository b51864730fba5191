import { importJWK, SignJWT } from 'jose';
import type { Selectable } from 'kysely';
import type { ServerConfig } from '../../config/config.js';
import type { Ids } from '../../config/ids.js';
import type { SandboxesTable } from '../../storage/schema.js';
import { issuerOf, trustDomainOf } from './documents.js';
import type { SigningKeys } from './signing-keys.js';

/** Lifetime of an identity token. */
export const LIFETIME_SECONDS = 300;

export interface MintPorts {
  config: ServerConfig;
  ids: Ids;
  identity: Pick<SigningKeys, 'signing'>;
  now(): number;
}

/** Whose identity a token shows: one run of one sandbox. */
export type TokenSubject = Pick<
  Selectable<SandboxesTable>,
  'id' | 'team_id' | 'execution_id' | 'template_id'
>;

/**
 * Makes a JWT-SVID that names a sandbox to one audience, valid for five minutes. Relying parties verify it with the keys
 * of `/.well-known/jwks.json`.
 */
export async function mintIdentityToken(
  context: MintPorts,
  subject: TokenSubject,
  audience: string,
): Promise<string> {
  const { kid, jwk } = await context.identity.signing();
  const now = Math.floor(context.now() / 1000);
  return new SignJWT({
    'svc:execution_id': subject.execution_id,
    'svc:template_id': subject.template_id,
  })
    .setProtectedHeader({ alg: 'ES256', kid, typ: 'JWT' })
    .setIssuer(issuerOf(context.config))
    .setSubject(`spiffe://${trustDomainOf(context.config)}/team/${subject.team_id}/sandbox/${subject.id}`)
    .setAudience([audience])
    .setJti(context.ids.uuid())
    .setIssuedAt(now)
    .setNotBefore(now)
    .setExpirationTime(now + LIFETIME_SECONDS)
    .sign(await importJWK(jwk, 'ES256'));
}
