import { Code, ConnectError } from '@connectrpc/connect';

/** Users that every sandbox of the kit has. */
const users = new Set(['user', 'root']);

export const isUser = (name: string): boolean => users.has(name);

/** User of HTTP Basic, without a password; undefined when none is named, or what comes is no HTTP Basic. */
export function namedUser(headers: Headers): string | undefined {
  const found = /^Basic ([A-Za-z0-9+/=]*)$/i.exec(headers.get('Authorization') ?? '');
  if (!found) return undefined;
  try {
    const bytes = Uint8Array.from(atob(found[1] as string), (char) => char.charCodeAt(0));
    return new TextDecoder().decode(bytes).split(':', 1)[0] || undefined;
  } catch {
    return undefined;
  }
}

/** @throws ConnectError `unauthenticated` for a user that does not exist */
export function userOf(headers: Headers): string | undefined {
  const name = namedUser(headers);
  if (name !== undefined && !isUser(name))
    throw new ConnectError(`unknown user ${JSON.stringify(name)}`, Code.Unauthenticated);
  return name;
}
