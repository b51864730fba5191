import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { IncusClient, IncusRequest } from './incus-client.js';

/** Opens a WebSocket of Incus: a connection on which `FrameReader` reads. @throws {IncusError} */
export async function openWebSocket(
  client: IncusClient,
  request: Pick<IncusRequest, 'path' | 'query' | 'signal' | 'timeoutMs'>,
): Promise<Duplex> {
  const { socket, head } = await client.upgrade({
    ...request,
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': randomBytes(16).toString('base64'),
    },
  });
  if (head.length > 0) socket.unshift(head);
  return socket;
}
