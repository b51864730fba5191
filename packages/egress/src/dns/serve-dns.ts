import type { Socket as UdpSocket } from 'node:dgram';
import type { Socket } from 'node:net';
import { reset } from '../failures/reset.js';
import { Counts } from '../limits/counts.js';
import type { Registry } from '../sandboxes/registry.js';
import type { DnsForwarder } from './forwarder.js';

const IDLE_MS = 10_000;
/** Queries of one connection that wait for their answers. */
const MAX_PIPELINED = 16;
/** Connections of one sandbox. */
const MAX_CONNECTIONS = 20;
/** Of one message, with its length before it. */
const MAX_MESSAGE = 2 + 0xffff;

/** Answers datagrams that a socket receives. */
export function serveUdp(socket: UdpSocket, forwarder: DnsForwarder): void {
  // A reply that cannot be sent is one that is lost.
  socket.on('error', () => undefined);
  socket.on('message', (query, { address, port }) => {
    void forwarder.answer(address, query, { udp: true }).then((reply) => {
      if (reply !== undefined) socket.send(reply, port, address, () => undefined);
    });
  });
}

/** Answers queries over TCP, each with its length before it. */
export function dnsConnections(
  forwarder: DnsForwarder,
  registry: Registry,
): (socket: Socket, source: string) => void {
  const open = new Counts();
  return (socket, source) => {
    socket.on('error', () => undefined);
    if (registry.find(source) === undefined || open.of(source) >= MAX_CONNECTIONS) {
      reset(socket);
      return;
    }
    socket.once('close', open.add(source));
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    serveConnection(socket, source, forwarder);
  };
}

function serveConnection(socket: Socket, source: string, forwarder: DnsForwarder): void {
  let bytes = Buffer.alloc(0);
  let waiting = 0;
  let ended = false;
  const next = () => {
    while (waiting < MAX_PIPELINED && bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0)) {
      const end = 2 + bytes.readUInt16BE(0);
      const query = bytes.subarray(2, end);
      bytes = bytes.subarray(end);
      waiting += 1;
      void forwarder.answer(source, query, { udp: false }).then((reply) => {
        waiting -= 1;
        if (socket.destroyed) return;
        // A client that asks nonsense, or too much, over a connection loses it.
        if (reply === undefined) return socket.destroy();
        const length = Buffer.alloc(2);
        length.writeUInt16BE(reply.length);
        socket.write(Buffer.concat([length, reply]));
        next();
      });
    }
    if (bytes.length < MAX_MESSAGE && waiting < MAX_PIPELINED) socket.resume();
    if (ended && waiting === 0) socket.end();
  };
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    socket.pause();
    next();
  });
  socket.once('end', () => {
    ended = true;
    next();
  });
  socket.resume();
}
