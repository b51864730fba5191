import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';

const NAME = 'svc_dashboard';

/** The id of a session in the cookies of a request. */
export function readSessionCookie(header: string | undefined): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const [name, value] = part.trim().split('=', 2);
    if (name === NAME) return value;
  }
  return undefined;
}

/** Sets the cookie until the browser ends; the server ends it earlier. An empty id takes it away. */
export function sessionCookie(req: IncomingMessage, id: string): string {
  const secure =
    (req.socket as Partial<TLSSocket>).encrypted === true || req.headers['x-forwarded-proto'] === 'https';
  const gone = id === '' ? '; Max-Age=0' : '';
  return `${NAME}=${id}; Path=/dashboard; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}${gone}`;
}
