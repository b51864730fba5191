import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { readResumed } from '../../src/cluster/copies/read-resumed.js';

const CONTENT = Buffer.alloc(100_000, 'what another server has stored ');

describe('a stream that breaks off', () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  /** @param lengths bytes that each answer gives before its connection breaks; undefined: all, and its end. */
  const serve = async (lengths: (number | undefined | 'silence' | 'drip')[]) => {
    const offsets: number[] = [];
    server = createServer((req, res) => {
      const offset = Number(new URL(req.url!, 'http://a').searchParams.get('offset'));
      const length = lengths[offsets.length];
      offsets.push(offset);
      if (length === undefined) return void res.end(CONTENT.subarray(offset));
      if (length === 'silence') return void res.write(CONTENT.subarray(offset, offset + 10));
      if (length === 'drip') {
        const drop = setInterval(() => res.write('x'), 5);
        return void res.once('close', () => clearInterval(drop));
      }
      res.write(CONTENT.subarray(offset, offset + length), () => res.destroy());
    });
    await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const open = (offset: number, signal: AbortSignal) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        get({ host: '127.0.0.1', port, path: `/?offset=${offset}`, agent: false, signal }, resolve).on(
          'error',
          reject,
        );
      });
    return { open, offsets };
  };

  it('is read to its end, from where it broke off each time', async () => {
    const { open, offsets } = await serve([40_000, 1_000, 20_000, undefined]);
    let told = 0;
    const bytes = await buffer(
      readResumed(open, (count) => {
        told += count;
      }),
    );
    expect(bytes.equals(CONTENT)).toBe(true);
    expect(told).toBe(CONTENT.length);
    expect(offsets[0]).toBe(0);
    // Bytes on their way when the connection broke may be lost.
    for (const [index, offset] of offsets.entries())
      if (index > 0) expect(offset).toBeGreaterThanOrEqual(offsets[index - 1]!);
  });

  it('resumes when its source falls silent', async () => {
    const { open, offsets } = await serve(['silence', undefined]);
    expect((await buffer(readResumed(open, () => {}, 1_000))).equals(CONTENT)).toBe(true);
    expect(offsets.length).toBeGreaterThanOrEqual(2);
  });

  it('is given up when nothing comes any more', async () => {
    const { open, offsets } = await serve(Array(20).fill(0));
    await expect(buffer(readResumed(open, () => {}))).rejects.toThrow();
    expect(offsets.length).toBeLessThanOrEqual(5);
  });

  it('is given up when its source lets it drip, however whole its connection is', async () => {
    const { open, offsets } = await serve(['drip']);
    const pace = { graceMs: 100, bytesPerSecond: 2 ** 30 };
    await expect(buffer(readResumed(open, () => {}, 600_000, pace))).rejects.toThrow('too slow');
    expect(offsets).toEqual([0]);
  });

  it('is not tried again when its source refuses', async () => {
    let tries = 0;
    const open = () => {
      tries += 1;
      return Promise.reject(new Error('refused'));
    };
    await expect(buffer(readResumed(open, () => {}))).rejects.toThrow('refused');
    expect(tries).toBe(1);
  });
});
