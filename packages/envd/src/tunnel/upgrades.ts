import type { IncomingMessage } from 'node:http';
import { connect, type NetConnectOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import type { EnvdContext } from '../context.js';
import { linkOwnersOf, ownerOf } from '../filesystem/index.js';
import { requestUser } from '../http/request-user.js';
import { serveSftp } from '../sftp/session.js';
import { refuseUpgrade } from './refuse-upgrade.js';
import { joinStreams } from './tunnel.js';

/** Why a connection was not upgraded. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Longest time that a target may take to accept a connection, ms. */
const CONNECT_TIMEOUT_MS = 30_000;

/**
 * Turns a request into a stream of bytes: `/tunnel?host=H&port=P` or `?socket=PATH` (`Upgrade: tcp`) leads to whatever listens
 * there, as seen from inside; `/sftp` (`Upgrade: sftp`) speaks SFTP version 3. What cannot be reached: 404.
 */
export async function upgradeRequest(
  context: EnvdContext,
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
  url: URL,
): Promise<void> {
  try {
    const protocol = request.headers.upgrade?.toLowerCase();
    if (url.pathname === '/tunnel' && protocol === 'tcp') await tunnel(client, head, targetOf(url));
    else if (url.pathname === '/sftp' && protocol === 'sftp') await sftp(context, request, client, head);
    else throw new Refusal(404, `no route upgrades ${url.pathname} to ${protocol}`);
  } catch (error) {
    const status = error instanceof Refusal ? error.status : 401;
    refuseUpgrade(client, status, (error as Error).message);
  }
}

function accept(client: Duplex, protocol: string): void {
  client.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
}

async function sftp(
  context: EnvdContext,
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
): Promise<void> {
  const user = await requestUser(context, request.headers.authorization);
  const { home } = user;
  const owner = ownerOf(context, user);
  const linkOwners = await linkOwnersOf(context, user);
  accept(client, 'sftp');
  if (head.length > 0) client.unshift(head);
  await serveSftp(client, { home, owner, linkOwners, names: () => context.users.names() });
}

/** @throws {Refusal} */
function targetOf(url: URL): NetConnectOpts {
  const path = url.searchParams.get('socket');
  if (path?.startsWith('/') && !path.includes('\0')) return { path };
  const host = url.searchParams.get('host') ?? '';
  const port = url.searchParams.get('port') ?? '';
  if (host !== '' && /^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535)
    return { host, port: Number(port), noDelay: true };
  throw new Refusal(400, 'the query needs a host and a port from 1 to 65535, or an absolute path as socket');
}

/** @throws {Refusal} when the target cannot be reached */
async function tunnel(client: Duplex, head: Buffer, to: NetConnectOpts): Promise<void> {
  const target = connect({ ...to, allowHalfOpen: true });
  const onLeft = () => target.destroy();
  client.once('close', onLeft);
  await new Promise<void>((resolve, reject) => {
    target.setTimeout(CONNECT_TIMEOUT_MS, () => target.destroy(new Error('no answer in 30 s')));
    target.once('error', (error: Error) =>
      reject(new Refusal(404, error.message || String((error as NodeJS.ErrnoException).code))),
    );
    target.once('close', () => reject(new Refusal(404, 'the client left')));
    target.once('connect', resolve);
  });
  target.setTimeout(0);
  client.off('close', onLeft);
  accept(client, 'tcp');
  joinStreams(client, target, head);
}
