import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { DriverError } from '../../contract/errors.js';
import { echoServer } from '../programs.js';
import type { Workbench } from '../workbench.js';

export function portContract(bench: Workbench): void {
  describe('ports', () => {
    it.each(['0.0.0.0', '127.0.0.1'])('are reached when a program listens on %s', async (address) => {
      const { instance, client } = await bench.create();
      const port = await echoServer(client, address);
      const socket = await instance.dial(port);
      try {
        expect(await echo(socket, 'hello')).toBe('hello');
      } finally {
        socket.destroy();
      }
    });

    it('are refused with port_closed when nothing listens', async () => {
      const { instance } = await bench.create();
      const error = await instance.dial(1).then(
        (socket) => socket.destroy(),
        (reason: unknown) => reason,
      );
      expect(DriverError.is(error) && error.code).toBe('port_closed');
    });

    it('reject with the reason of the abort', async () => {
      const { instance } = await bench.create();
      const reason = new Error('enough');
      await expect(instance.dial(49983, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    });

    it('carry large amounts both ways', async () => {
      const { instance, client } = await bench.create();
      const socket = await instance.dial(await echoServer(client, '127.0.0.1'));
      const sent = Buffer.alloc(4 * 1024 * 1024, 'abcdefg');
      try {
        socket.write(sent);
        let received = 0;
        for await (const chunk of socket) {
          received += (chunk as Buffer).length;
          if (received >= sent.length) break;
        }
        expect(received).toBe(sent.length);
      } finally {
        socket.destroy();
      }
    });
  });
}

async function echo(socket: Duplex, text: string): Promise<string> {
  socket.write(text);
  const [chunk] = await once(socket, 'data');
  return String(chunk);
}
