import { type IncomingMessage, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { Fixture, to } from './fixture.js';

/** Small repeatable random numbers in [0, 1). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

describe('many streams at once', () => {
  it('all end, whole or broken, with slow readers, leavers and services that break', async () => {
    await using fixture = await Fixture.open();
    const sandbox = fixture.add('abc');
    const next = random(7);
    await fixture.serve(sandbox, 80, (req, res) => {
      const url = new URL(req.url ?? '', 'http://x');
      const size = Number(url.searchParams.get('size'));
      const kind = url.searchParams.get('kind');
      req.resume();
      req.on('error', () => undefined);
      if (kind === 'length') res.writeHead(200, { 'Content-Length': size });
      else if (kind === 'close') {
        res.useChunkedEncodingByDefault = false;
        res.shouldKeepAlive = false;
        res.writeHead(200, { Connection: 'close' });
      } else res.writeHead(200);
      let sent = 0;
      const write = () => {
        while (sent < size && !res.destroyed) {
          if (kind === 'break' && sent > size / 2) return void res.destroy();
          const step = Math.min(size - sent, 1 + Math.floor(next() * 70_000));
          sent += step;
          // The last bytes and the end go together: the end must get through while the reader holds everything back.
          if (sent === size) return void res.end(Buffer.alloc(step, 'x'));
          if (!res.write(Buffer.alloc(step, 'x'))) return void res.once('drain', write);
        }
        if (size === 0) res.end();
      };
      write();
    });
    const kinds = ['chunked', 'length', 'close', 'break', 'leave'];
    const outcomes = new Map<string, number>();
    const problems: string[] = [];
    const one = (i: number) =>
      new Promise<void>((resolve) => {
        const kind = kinds[i % kinds.length] ?? '';
        const size = [0, 10, 20_000, 150_000, 900_000][Math.floor(next() * 5)] ?? 0;
        const slow = next() < 0.5;
        const agent = false;
        const path = `/?size=${size}&kind=${kind}`;
        const outgoing = request({
          port: fixture.port,
          agent,
          path,
          method: i % 2 ? 'POST' : 'GET',
          headers: to('abc', 80),
        });
        const settle = (outcome: string) => {
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
          resolve();
        };
        outgoing.once('error', () => {
          if (kind !== 'leave' && kind !== 'break') problems.push(`${path}: no answer`);
          settle(`${kind}: no answer`);
        });
        outgoing.once('response', (res: IncomingMessage) => {
          outgoing.removeAllListeners('error').on('error', () => undefined);
          let received = 0;
          res.on('error', () => undefined);
          res.on('data', (chunk: Buffer) => {
            received += chunk.length;
            if (kind === 'leave' && received > size / 3) return void outgoing.destroy();
            if (slow) {
              res.pause();
              setTimeout(() => res.resume(), Math.floor(next() * 8));
            }
          });
          res.once('close', () => {
            const whole = res.complete && received === size;
            if (!whole && kind !== 'leave' && kind !== 'break')
              problems.push(`${path}: ${received}, ${res.complete}`);
            const cut = kind === 'leave' || res.statusCode === 502;
            if (res.complete && received !== size && !cut)
              problems.push(`${path}: complete with ${received}`);
            settle(`${kind}: ${whole ? 'whole' : 'broken'}`);
          });
        });
        outgoing.end(i % 2 ? 'body' : undefined);
      });
    const count = 600;
    let settled = 0;
    for (let i = 0; i < count; i++) void one(i).then(() => settled++);
    await eventually('every stream to end', () => settled === count, 100_000);
    expect(problems).toEqual([]);
    for (const kind of ['chunked', 'length', 'close'])
      expect(outcomes.get(`${kind}: whole`)).toBe(count / kinds.length);
    expect(outcomes.get('break: broken') ?? 0).toBeGreaterThan(10);
    await eventually('the books to be right', () => fixture.gateway.stats.openRequests === 0);
    await fixture.gateway.close();
    await eventually('no connection to be left', () => sandbox.dialed.every((socket) => socket.destroyed));
  });
});
