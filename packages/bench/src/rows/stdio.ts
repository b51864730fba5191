import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { Client } from '@svc/sdk';
import { atLeast, type Row, runs } from '../row.js';
import { startServerChild } from '../support/server-child.js';
import { timed } from '../support/time.js';

/** The output of a program as the body of a plain HTTP answer. */
async function pipeOut(command: string): Promise<number> {
  const server = createServer((_request, response) => {
    const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { ms } = await timed(async () => {
    const response = await fetch(`http://127.0.0.1:${(server.address() as { port: number }).port}/`);
    for await (const _ of response.body!);
  });
  await new Promise((resolve) => server.close(resolve));
  return ms;
}

/** A request body as the input of a program. */
async function pipeIn(sizeMB: number): Promise<number> {
  const server = createServer((request, response) => {
    const child = spawn('/bin/sh', ['-c', 'cat > /dev/null'], { stdio: ['pipe', 'ignore', 'ignore'] });
    request.pipe(child.stdin);
    child.on('exit', () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const chunk = Buffer.alloc(1_000_000, 120);
  let left = sizeMB;
  const body = new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(chunk);
      else controller.close();
    },
  });
  const { ms } = await timed(async () => {
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
    await (await fetch(url, { method: 'POST', body, duplex: 'half' } as RequestInit)).arrayBuffer();
  });
  await new Promise((resolve) => server.close(resolve));
  return ms;
}

export const stdio: Row = {
  id: 'stdio',
  about: '100 MB of stdout and of stdin, against a plain pipe over HTTP',
  async run(context) {
    const sizeMB = runs(context, 100, 2);
    const command = `head -c ${sizeMB * 1_000_000} /dev/zero`;
    await using server = await startServerChild({ driver: context.driver, poolSize: 0 });
    const sandbox = await new Client(server).sandboxes.create();
    const plainOut = await pipeOut(command);
    const out = await timed(async () => {
      const process = await sandbox.commands.start(command, { timeoutMs: 0 });
      let bytes = 0;
      for await (const chunk of process.stdout) bytes += chunk.length;
      if (bytes !== sizeMB * 1_000_000) throw new Error(`got ${bytes} bytes of ${sizeMB} MB`);
    });
    const plainIn = await pipeIn(sizeMB);
    const chunk = new Uint8Array(1_000_000).fill(120);
    const into = await timed(async () => {
      const process = await sandbox.commands.start('wc -c', { stdin: true, timeoutMs: 0 });
      const writer = process.stdin.getWriter();
      for (let written = 0; written < sizeMB; written++) await writer.write(chunk);
      await writer.close();
      const { stdout } = await process.wait();
      if (Number(stdout) !== sizeMB * 1_000_000) throw new Error(`the program read ${stdout.trim()} bytes`);
    });
    await sandbox.kill();
    const row = (id: string, what: string, ms: number, plain: number) => ({
      id,
      what,
      value: sizeMB / (ms / 1000),
      unit: 'MiB/s' as const,
      beside: [{ name: 'plain pipe over HTTP', value: sizeMB / (plain / 1000), unit: 'MiB/s' as const }],
      target: atLeast(plain / ms, 0.5, '>= 50 % of a plain pipe'),
      how: `${sizeMB} MB`,
    });
    return [row('stdio.out', 'stdout', out.ms, plainOut), row('stdio.in', 'stdin', into.ms, plainIn)];
  },
};
