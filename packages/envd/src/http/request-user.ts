import { Code, ConnectError } from '@connectrpc/connect';
import type { EnvdContext, OsUser } from '../context.js';

/**
 * The account that a call names by HTTP Basic auth (the password is ignored), else the default one.
 *
 * @throws ConnectError `unauthenticated` when the account does not exist or the header is unreadable.
 */
export async function requestUser(
  context: EnvdContext,
  authorization: string | null | undefined,
): Promise<OsUser> {
  const name = basicUserName(authorization) ?? context.defaults.user;
  const user = await context.users.find(name);
  if (!user) throw new ConnectError(`unknown user ${JSON.stringify(name)}`, Code.Unauthenticated);
  return user;
}

/** The user name of a Basic header; undefined without such a header. */
export function basicUserName(authorization: string | null | undefined): string | undefined {
  const match = /^basic +([A-Za-z0-9+/_=-]+) *$/i.exec(authorization ?? '');
  if (!match) return undefined;
  const text = Buffer.from(match[1]!, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const name = colon === -1 ? text : text.slice(0, colon);
  return name === '' ? undefined : name;
}
