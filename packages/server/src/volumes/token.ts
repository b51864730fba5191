import { jwtVerify, SignJWT } from 'jose';
import type { Uses } from '../cluster/context.js';

const LIFETIME_SECONDS = 3600;
const ALGORITHM = 'HS256';
const KEY_ID = '1';

type Context = Uses<'config' | 'ids' | 'keys' | 'now'>;

export interface VolumeClaims {
  teamId: string;
  volumeId: string;
}

const key = (context: Context) => context.keys.derive('volume-token');

/** A bearer token for the content of one volume. Lives for one hour. */
export async function signVolumeToken(context: Context, claims: VolumeClaims): Promise<string> {
  const now = Math.floor(context.now() / 1000);
  return new SignJWT({ teamid: claims.teamId, volid: claims.volumeId, voltype: 'local' })
    .setProtectedHeader({ alg: ALGORITHM, kid: KEY_ID })
    .setIssuer(context.config.apiUrl)
    .setAudience(context.config.apiUrl)
    .setSubject(claims.teamId)
    .setJti(context.ids.uuid())
    .setIssuedAt(now)
    .setNotBefore(now)
    .setExpirationTime(now + LIFETIME_SECONDS)
    .sign(key(context));
}

/** @returns what the token grants; undefined when it is malformed, forged, expired or meant for another service. */
export async function verifyVolumeToken(
  context: Context & Uses<'nodes'>,
  token: string,
): Promise<VolumeClaims | undefined> {
  try {
    const { payload } = await jwtVerify(token, key(context), {
      algorithms: [ALGORITHM],
      // Servers of one database are one service, with any addresses: only they have the key.
      ...(context.nodes.shared ? {} : { audience: context.config.apiUrl, issuer: context.config.apiUrl }),
      currentDate: new Date(context.now()),
      clockTolerance: 5,
    });
    const { teamid, volid } = payload;
    return typeof teamid === 'string' && typeof volid === 'string'
      ? { teamId: teamid, volumeId: volid }
      : undefined;
  } catch {
    return undefined;
  }
}
