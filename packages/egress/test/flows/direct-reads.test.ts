import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { LargeBuffers } from '../../src/flows/direct-reads.js';
import { startServer, startTestEgress } from '../support/egress.js';

describe('what comes from outside', () => {
  it('arrives unchanged, whole and in order at clients that read in fits and starts', async () => {
    const egress = await startTestEgress();
    await egress.setPolicy({});
    // Blocks that all differ, in sizes that fit no buffer.
    const blocks = Array.from({ length: 300 }, (_, index) =>
      Buffer.alloc(1 + index * 211, `block ${index} `),
    );
    const sent = createHash('sha256');
    for (const block of blocks) sent.update(block);
    const { port } = await startServer((socket) => {
      for (const block of blocks) socket.write(block);
      socket.end();
    });
    const expected = sent.digest('hex');
    const receive = async (pauseEvery: number) => {
      const hash = createHash('sha256');
      const socket = egress.connect({ port });
      let chunks = 0;
      socket.on('data', (chunk: Buffer) => {
        hash.update(chunk);
        chunks += 1;
        if (chunks % pauseEvery !== 0) return;
        socket.pause();
        setImmediate(() => socket.resume());
      });
      socket.once('end', () => socket.end());
      await once(socket, 'end');
      return hash.digest('hex');
    };
    expect(await Promise.all([1, 2, 3, 50, 1_000].map(receive))).toEqual(Array(5).fill(expected));
  });
});

describe('large buffers', () => {
  it('are lent to one sandbox as long as as many are left for others', () => {
    const buffers = new LargeBuffers(8);
    const lent = Array.from({ length: 8 }, () => buffers.borrow('greedy')).filter(Boolean);
    expect(lent).toHaveLength(3);
    expect(buffers.borrow('modest')).toBeDefined();
    lent[0]!();
    lent[0]!();
    expect(buffers.borrow('greedy')).toBeDefined();
    expect(buffers.borrow('greedy')).toBeUndefined();
  });
});
