import { createServer, type ServerHttp2Session } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { connectEgress } from '../src/control/connect.js';
import { reportBatches } from '../src/control/report-batches.js';
import type { EgressHandlers, EgressReport } from '../src/control/types.js';

const report = (sandboxId: string, index: number): EgressReport => ({
  sandboxId,
  host: `h${index}.example.com`,
  port: 443,
  outcome: 'denied',
  rule: 'default',
  attempts: 1,
  bytesSent: 0,
  bytesReceived: 0,
  at: new Date(0),
});

it('reports much in several messages, each sandbox in one of them, and loses nothing', () => {
  const all = Array.from({ length: 3_000 }, (_, index) => report(`sandbox${index % 7}`, index));
  const batches = reportBatches(all);
  expect(batches.length).toBeGreaterThan(3);
  expect(new Set(batches.flat())).toEqual(new Set(all));
  for (const name of new Set(all.map(({ sandboxId }) => sandboxId)))
    expect(batches.filter((batch) => batch.some(({ sandboxId }) => sandboxId === name))).toHaveLength(1);
  expect(reportBatches([])).toEqual([]);
});

it('is left by the server when a message of it would be endless', async () => {
  let written = 0;
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer().on('session', (session) => sessions.add(session));
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    stream.respond({ ':status': 200, 'content-type': 'application/connect+proto' });
    // Flags, and a length of 1 GiB.
    stream.write(Buffer.from([0, 0x40, 0, 0, 0]));
    const zeros = Buffer.alloc(64 * 1024);
    const more = () => {
      while (!stream.destroyed && written < 2 ** 28) {
        written += zeros.length;
        if (!stream.write(zeros)) return void stream.once('drain', more);
      }
    };
    more();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  const connection = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await expect(connectEgress(connection, {} as EgressHandlers)).rejects.toThrow(/larger than|bytes/);
  expect(connection.destroyed).toBe(true);
  expect(written).toBeLessThan(16 * 2 ** 20);
});
