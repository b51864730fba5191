import { createServer, request as httpRequest } from 'node:http';
import { Readable } from 'node:stream';
import { Client } from '@svc/sdk';
import { atLeast, type Figure, type Row, runs } from '../row.js';
import { memoryMiB } from '../support/processes.js';
import { startServerChild } from '../support/server-child.js';
import { drain, source } from '../support/streams.js';
import { timed } from '../support/time.js';

const MIB = 1024 * 1024;
const UNLIMITED = { timeoutMs: 0 };

/** The same bytes through the same number of plain hops: client, a relay, a service. */
async function plainHops(sizeMiB: number): Promise<{ up: number; down: number }> {
  const service = createServer((request, response) => {
    if (request.method === 'PUT') {
      request.resume();
      request.on('end', () => response.end());
    } else Readable.fromWeb(source(sizeMiB) as never).pipe(response);
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const port = (service.address() as { port: number }).port;
  const relay = createServer((request, response) => {
    const onward = httpRequest({ port, method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(relay.address() as { port: number }).port}/`;
  const up = await timed(async () => {
    const response = await fetch(url, {
      method: 'PUT',
      body: source(sizeMiB),
      duplex: 'half',
    } as RequestInit);
    await response.arrayBuffer();
  });
  const down = await timed(async () => drain((await fetch(url)).body!));
  for (const server of [relay, service]) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  return { up: up.ms, down: down.ms };
}

export const transfer: Row = {
  id: 'transfer',
  about: '1 GiB up and down, against plain HTTP over as many hops, with the memory it takes',
  async run(context) {
    const sizeMiB = runs(context, 1024, 16);
    await using server = await startServerChild({ driver: context.driver, poolSize: 0 });
    const client = new Client(server);
    const sandbox = await client.sandboxes.create();
    const plain = await plainHops(sizeMiB);
    const before = { ours: memoryMiB(process.pid), gateway: memoryMiB(server.pid) };
    const peak = { ours: 0, gateway: 0 };
    const watch = setInterval(() => {
      peak.ours = Math.max(peak.ours, memoryMiB(process.pid) - before.ours);
      peak.gateway = Math.max(peak.gateway, memoryMiB(server.pid) - before.gateway);
    }, 50);
    const up = await timed(() => sandbox.files.write('big', source(sizeMiB), { requestTimeoutMs: 0 }));
    const down = await timed(async () => drain(await sandbox.files.read('big', { format: 'stream' })));
    clearInterval(watch);
    // The time of the sandbox's own file system, without any way there.
    const disk = await timed(() =>
      sandbox.commands.run(`dd if=/dev/zero of=dd bs=64k count=${sizeMiB * 16}`, UNLIMITED),
    );
    await sandbox.kill();
    if (down.value !== sizeMiB * MIB) throw new Error(`downloaded ${down.value} bytes of ${sizeMiB * MIB}`);
    const speed = (ms: number) => sizeMiB / (ms / 1000);
    const beside = (name: string, ms: number) => ({ name, value: speed(ms), unit: 'MiB/s' as const });
    const row = (
      what: 'upload' | 'download',
      ms: number,
      plainMs: number,
      least: number,
      more: Figure['beside'],
    ) => ({
      id: what === 'upload' ? 'transfer.up' : 'transfer.down',
      what,
      value: speed(ms),
      unit: 'MiB/s' as const,
      beside: [beside('plain HTTP', plainMs), ...more],
      target: atLeast(plainMs / ms, least, `>= ${100 * least} % of plain HTTP`),
      how: `${sizeMiB} MiB`,
    });
    return [
      row('upload', up.ms, plain.up, 0.75, [beside('the disk alone, `dd` in the sandbox', disk.ms)]),
      row('download', down.ms, plain.down, 0.8, []),
      {
        id: 'transfer.memory',
        what: 'memory that both took, client',
        value: peak.ours,
        unit: 'MiB',
        beside: [{ name: 'server', value: peak.gateway, unit: 'MiB' }],
        target: { text: 'flat', met: peak.ours < 256 && peak.gateway < 256 },
        how: 'growth of the resident set',
      },
    ];
  },
};
