import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { frame } from '#support/connect-frames';
import { eventually } from '#support/eventually';
import { type ChildServer, childEnvironment, startChildServer } from '../support/child-server.js';
import { childStorage, dropSchema } from '../support/server-storage.js';

/** Opens a stream of a program's output and waits until it has begun. */
async function openStream(server: ChildServer, sandbox: { sandboxID: string; envdAccessToken: string }) {
  const script = 'echo begun; exec sleep 600';
  const state = { bytes: 0, ended: false };
  const sent = request(`${server.sandboxUrl}/process.Process/Start`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/connect+json',
      'Connect-Protocol-Version': '1',
      'Svc-Sandbox-Id': sandbox.sandboxID,
      'Svc-Sandbox-Port': '49983',
      'X-Access-Token': sandbox.envdAccessToken,
    },
  });
  sent.on('error', () => {
    state.ended = true;
  });
  sent.on('response', (response) => {
    response.on('data', (chunk: Buffer) => {
      state.bytes += chunk.length;
    });
    response.on('error', () => {});
    response.on('close', () => {
      state.ended = true;
    });
  });
  sent.end(frame({ process: { cmd: '/bin/sh', args: ['-c', script] }, stdin: false }));
  await eventually('the stream to begin', () => state.bytes > 0);
  return state;
}

it('is away for a moment only when a stopped server is followed by the next, though a stream is open', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-restart-'));
  const { url, schema } = await childStorage();
  const config = path.join(dataDir, 'config.json');
  await writeFile(config, JSON.stringify({ drainMs: 60_000 }));
  const env = {
    ...childEnvironment(dataDir, 'process'),
    SVC_CONFIG: config,
    // The next server needs the same one: one that the system gives nobody in between.
    SVC_API_PORT: String(20_000 + (process.pid % 12_000)),
    ...(url === undefined ? {} : { SVC_POSTGRES_URL: url }),
  };
  let server = await startChildServer(env);
  const { apiKey } = JSON.parse(await readFile(path.join(dataDir, 'credentials.json'), 'utf8'));
  const headers = { 'X-API-Key': apiKey, 'Content-Type': 'application/json' };
  let sandboxId: string | undefined;
  try {
    const made = await fetch(`${server.apiUrl}/v2/sandboxes`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ templateID: 'base' }),
    });
    const sandbox = (await made.json()) as Parameters<typeof openStream>[1];
    sandboxId = sandbox.sandboxID;
    const stream = await openStream(server, sandbox);
    const seen: string[] = [];
    const look = async () => {
      const answer = await fetch(`${server.apiUrl}/health`, { headers: { Connection: 'close' } }).then(
        (response) => String(response.status),
        () => 'refused',
      );
      if (seen.at(-1) !== answer) seen.push(answer);
      return answer;
    };
    const stoppedAt = performance.now();
    let stoppedMs = 0;
    const next = server.stop().then(() => {
      stoppedMs = performance.now() - stoppedAt;
      return startChildServer(env);
    });
    await eventually('the next server to answer', async () => (await look()) === '204' && stoppedMs > 0);
    const awayMs = performance.now() - stoppedAt;
    server = await next;
    console.log(
      `stopped in ${Math.round(stoppedMs)} ms, away for ${Math.round(awayMs)} ms: ${seen.join(', ')}`,
    );
    await eventually('the end of the stream', () => stream.ended);
    for (const answer of seen) expect(['204', '503', 'refused']).toContain(answer);
    // Half a second for the stream, and not the minute that this server gives other requests when it stops.
    expect(stoppedMs).toBeLessThan(30_000);
  } finally {
    // A sandbox outlives its server.
    await fetch(`${server.apiUrl}/sandboxes/${sandboxId}`, { method: 'DELETE', headers }).catch(
      () => undefined,
    );
    await server.stop();
    await dropSchema(schema);
    await rm(dataDir, { recursive: true, force: true });
  }
});
