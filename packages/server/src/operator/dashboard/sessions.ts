import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';

/** Lifetime of a link to sign in, ms. */
const CODE_MS = 60_000;
/** Lifetime of a session, ms. */
const SESSION_MS = 8 * 3_600_000;
/** Most that are kept of each; the oldest give way. */
const MOST = 200;

/** Somebody who showed the operator token, or a link that was made with it. */
interface Session {
  /** Goes into a cookie that no script reads. */
  readonly id: string;
  /** Kept by the page and sent in a header. Cookies know no ports: one that another port of this host was sent opens nothing alone. */
  readonly proof: string;
  readonly expiresAtMs: number;
}

/** The sessions of the dashboard of this process. They are in memory alone: a restart signs everybody out. */
export class DashboardSessions {
  readonly #now: () => number;
  /** The expiry of each code, by its digest. */
  readonly #codes = new Map<string, number>();
  /** The sessions, by digest of the id. */
  readonly #sessions = new Map<string, { proof: Buffer; expiresAtMs: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Makes a code that signs in once. */
  issueCode(): { code: string; expiresAtMs: number } {
    const code = randomToken();
    const expiresAtMs = this.#now() + CODE_MS;
    keep(this.#codes, digest(code), expiresAtMs);
    return { code, expiresAtMs };
  }

  /** Uses a code up. False when it was never made, was used, or is too old. */
  redeem(code: string): boolean {
    const key = digest(code);
    const expiresAtMs = this.#codes.get(key);
    this.#codes.delete(key);
    return expiresAtMs !== undefined && this.#now() < expiresAtMs;
  }

  open(): Session {
    const session = { id: randomToken(), proof: randomToken(), expiresAtMs: this.#now() + SESSION_MS };
    const { proof, expiresAtMs } = session;
    keep(this.#sessions, digest(session.id), { proof: bytesOf(proof), expiresAtMs });
    return session;
  }

  /** When the session with this id and this proof ends, ms since the epoch; undefined: there is none. */
  find(id: string | undefined, proof: string | undefined): number | undefined {
    if (id === undefined || proof === undefined) return undefined;
    const known = this.#sessions.get(digest(id));
    if (known === undefined || !timingSafeEqual(known.proof, bytesOf(proof))) return undefined;
    if (this.#now() < known.expiresAtMs) return known.expiresAtMs;
    this.#sessions.delete(digest(id));
    return undefined;
  }

  close(id: string): void {
    this.#sessions.delete(digest(id));
  }
}

function randomToken(): string {
  return randomBytes(32).toString('base64url');
}

function bytesOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function digest(text: string): string {
  return bytesOf(text).toString('hex');
}

function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  if (map.size <= MOST) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

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
