import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { readFile } from 'node:fs/promises';
import { connect, isIP, isIPv6 } from 'node:net';
import { anyOf } from '#support/any-of';

/** Wait for one resolver, ms. */
const TRY_MS = 2_000;
/** A header and one question of the shortest name. */
const MIN_BYTES = 17;
const MAX_BYTES = 65_535;
const PORT = 53;

/** Sends DNS messages of sandboxes to the resolvers of the host, or to those that the operator names. */
export interface DnsForwarder {
  /**
   * @returns the reply, with the id of the query.
   * @throws {Error} when no resolver answers in time.
   */
  resolve(query: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
}

/** A resolver: an address, with a port where it is not 53. */
export interface Resolver {
  address: string;
  port: number;
}

/** @param given `address` or `address:port`, `[address]:port` for IPv6; undefined: the host's. */
export function createDnsForwarder(given: readonly string[] | undefined): DnsForwarder {
  const known = given?.map(parseResolver);
  return {
    async resolve(query, signal) {
      if (query.length < MIN_BYTES || query.length > MAX_BYTES) throw new Error('not a DNS query');
      // The host's resolvers may change, as with a network that comes and goes.
      const resolvers = known ?? (await hostResolvers());
      let failure: unknown = new Error('this host has no DNS resolver');
      for (const resolver of resolvers) {
        signal.throwIfAborted();
        const limit = anyOf([signal, AbortSignal.timeout(TRY_MS)]);
        try {
          return await ask(resolver, Buffer.from(query), limit);
        } catch (error) {
          failure = error;
        }
      }
      throw failure;
    },
  };
}

/** @throws {Error} for what is not an address. */
export function parseResolver(text: string): Resolver {
  const [, v6, v4, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const address = isIPv6(text) ? text : (v6 ?? v4 ?? '');
  if (isIP(address) === 0)
    throw new Error(`egress.dns: '${text}' is not an IP address, with a port or without`);
  return { address, port: port === undefined || isIPv6(text) ? PORT : Number(port) };
}

async function hostResolvers(): Promise<Resolver[]> {
  const text = await readFile('/etc/resolv.conf', 'utf8').catch(() => '');
  return [...text.matchAll(/^nameserver[ \t]+(\S+)/gm)]
    .map(([, address]) => address!.replace(/%.*$/, ''))
    .filter((address) => isIP(address) !== 0)
    .map((address) => ({ address, port: PORT }));
}

async function ask(resolver: Resolver, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  // Sandboxes choose their ids: one of ours, and a port of its own, is what a forger would have to guess.
  const sent = Buffer.from(query);
  sent.writeUInt16BE(randomInt(0x1_0000), 0);
  let reply = await askUdp(resolver, sent, signal);
  const truncated = (reply[2]! & 0x02) !== 0;
  if (truncated) reply = await askTcp(resolver, sent, signal);
  query.copy(reply, 0, 0, 2);
  return reply;
}

/** Returns whether a message answers a query: its id, the flag of a response, and the same question. */
function answers(query: Buffer, reply: Buffer): boolean {
  if (reply.length < 12 || reply.readUInt16BE(0) !== query.readUInt16BE(0)) return false;
  if ((reply[2]! & 0x80) === 0) return false;
  // Failures may leave the question out.
  if (reply.readUInt16BE(4) === 0) return (reply[3]! & 0x0f) !== 0;
  const end = questionEnd(query);
  return (
    end !== undefined &&
    reply.subarray(12, end).toString('latin1').toLowerCase() ===
      query.subarray(12, end).toString('latin1').toLowerCase()
  );
}

function questionEnd(query: Buffer): number | undefined {
  let at = 12;
  for (;;) {
    const length = query[at];
    if (length === undefined || length > 63) return undefined;
    at += length + 1;
    if (length === 0) return at + 4 <= query.length ? at + 4 : undefined;
  }
}

function askUdp({ address, port }: Resolver, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    const end = (settle: () => void) => {
      signal.removeEventListener('abort', onAbort);
      socket.close();
      settle();
    };
    const onAbort = () => end(() => reject(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('error', (error) => end(() => reject(error)));
    socket.on('message', (message) => {
      if (answers(query, message)) end(() => resolve(message));
    });
    // Connected: the kernel drops packets from other addresses.
    socket.connect(port, address, () => socket.send(query));
  });
}

function askTcp({ address, port }: Resolver, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port });
    const onAbort = () => socket.destroy(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    let received = Buffer.alloc(0);
    socket.once('connect', () => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(query.length);
      socket.write(Buffer.concat([length, query]));
    });
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const message = Buffer.from(received.subarray(2, 2 + received.readUInt16BE(0)));
      if (answers(query, message)) resolve(message);
      else reject(new Error('the resolver answered something else'));
      socket.destroy();
    });
    socket.once('error', reject);
    socket.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      reject(new Error('the resolver ended the connection'));
    });
  });
}
