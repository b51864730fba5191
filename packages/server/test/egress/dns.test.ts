import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDnsForwarder, parseResolver } from '../../src/network/egress/dns.js';

const QUERY = Buffer.from('abcd01000001000000000000076578616d706c650474657374000001' + '0001', 'hex');
let udp: Socket;
let tcp: Server;
let port: number;
let seen: Buffer[];
/** The datagrams that the resolver sends for a query, in order. */
let replies: (query: Buffer) => Buffer[];

const answer = (query: Buffer, flags = 0x8180): Buffer => {
  const reply = Buffer.from(query);
  reply.writeUInt16BE(flags, 2);
  return reply;
};
beforeEach(async () => {
  seen = [];
  replies = (query) => [answer(query)];
  tcp = createServer((socket) =>
    socket.on('data', (data) => {
      const message = Buffer.concat([answer(data.subarray(2)), Buffer.from('more')]);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length);
      socket.write(length);
      socket.end(message);
    }),
  );
  udp = await bindBoth(tcp);
  ({ port } = tcp.address() as AddressInfo);
  udp.on('message', (query, from) => {
    seen.push(query);
    for (const reply of replies(query)) udp.send(reply, from.port, from.address);
  });
});

/** Lets a server listen, and gives a UDP socket with the same port: one that somebody else has for UDP is given back. */
async function bindBoth(server: Server): Promise<Socket> {
  for (;;) {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const socket = createSocket('udp4');
    const bound = once(socket, 'listening').then(
      () => true,
      () => false,
    );
    socket.bind((server.address() as AddressInfo).port, '127.0.0.1');
    if (await bound) return socket;
    socket.close();
    await once(server.close(), 'close');
  }
}

afterEach(() => {
  udp.close();
  tcp.close();
});
const ask = (resolvers = [`127.0.0.1:${port}`]) =>
  createDnsForwarder(resolvers).resolve(QUERY, AbortSignal.timeout(5_000));

describe('names of sandboxes', () => {
  it('are looked up under an id that the sandbox does not choose, and answered under its own', async () => {
    for (let round = 0; round < 4; round += 1) expect(Buffer.from(await ask())).toEqual(answer(QUERY));
    expect(seen.every((query) => query.subarray(2).equals(QUERY.subarray(2)))).toBe(true);
    expect(new Set(seen.map((query) => query.readUInt16BE(0))).size).toBeGreaterThan(1);
  });

  it('are not answered by forged replies: another id, another question, no response', async () => {
    replies = (query) => {
      const id = answer(query);
      id.writeUInt16BE((query.readUInt16BE(0) + 1) & 0xffff, 0);
      const question = answer(query);
      question[13] = question[13]! ^ 1;
      return [id, question, query, Buffer.alloc(3), answer(query, 0x8183)];
    };
    expect(Buffer.from(await ask()).readUInt16BE(2)).toBe(0x8183);
  });

  it('are asked for again over TCP when the answer does not fit', async () => {
    replies = (query) => [answer(query, 0x8380)];
    const reply = Buffer.from(await ask());
    expect(reply.readUInt16BE(0)).toBe(0xabcd);
    expect(reply.subarray(-4).toString()).toBe('more');
  });

  it('go to the next resolver when one refuses', async () => {
    const closed = createSocket('udp4').bind(0, '127.0.0.1');
    await once(closed, 'listening');
    const gone = `127.0.0.1:${closed.address().port}`;
    closed.close();
    expect(Buffer.from(await ask([gone, `127.0.0.1:${port}`]))).toEqual(answer(QUERY));
    await expect(ask([gone])).rejects.toThrow();
  });

  it('are no way to send anything else', async () => {
    const forwarder = createDnsForwarder([`127.0.0.1:${port}`]);
    await expect(forwarder.resolve(Buffer.alloc(3), AbortSignal.timeout(100))).rejects.toThrow(
      'not a DNS query',
    );
    expect(seen).toEqual([]);
  });
});

describe('a resolver', () => {
  it.each([
    ['9.9.9.9', { address: '9.9.9.9', port: 53 }],
    ['9.9.9.9:5353', { address: '9.9.9.9', port: 5353 }],
    ['2620:fe::fe', { address: '2620:fe::fe', port: 53 }],
    ['[2620:fe::fe]:5353', { address: '2620:fe::fe', port: 5353 }],
  ])('may be written as %s', (text, expected) => {
    expect(parseResolver(text)).toEqual(expected);
  });
  it.each(['dns.example', '', '9.9.9.9:', '1.2.3'])('is an address, not %j', (text) => {
    expect(() => parseResolver(text)).toThrow('egress.dns');
  });
});
