import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { childEnvironment, startChildServer } from '../support/child-server.js';

/** On SIGUSR2 something in the server throws where nobody catches. */
const FAULT = `process.on('SIGUSR2', () => setTimeout(() => { throw new TypeError('out of nowhere'); }));`;

it('a server ends in order with code 1 after an exception that nobody caught, and the next takes its sandboxes over', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-uncaught-'));
  const env = childEnvironment(dataDir, 'process');
  const faulty = await startChildServer(env, { before: FAULT });
  const { apiKey } = JSON.parse(await readFile(path.join(dataDir, 'credentials.json'), 'utf8'));
  const headers = { 'X-API-Key': apiKey, 'Content-Type': 'application/json' };
  const made = await fetch(`${faulty.apiUrl}/v2/sandboxes`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ templateID: 'base' }),
  });
  const { sandboxID } = (await made.json()) as { sandboxID: string };
  let said = '';
  for (const stream of [faulty.child.stdout!, faulty.child.stderr!])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  const exited = once(faulty.child, 'close');
  faulty.child.kill('SIGUSR2');
  expect(await exited).toEqual([1, null]);
  expect(said).toMatch(/out of nowhere/);
  expect(said).toMatch(/at .*data:text/);

  const next = await startChildServer(env);
  try {
    const kept = await fetch(`${next.apiUrl}/sandboxes/${sandboxID}`, { headers });
    expect(await kept.json()).toMatchObject({ sandboxID, state: 'running' });
    expect((await fetch(`${next.apiUrl}/sandboxes/${sandboxID}`, { method: 'DELETE', headers })).status).toBe(
      204,
    );
  } finally {
    await next.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});
