import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type Sandbox } from '@svc/sdk';
import { startServer } from '@svc/server';
import { eventually } from '@svc/support/eventually';
import { afterAll, beforeAll } from 'vitest';

/** A service for the tests of a file, on the linux driver where there is root. */
export function withService(): { readonly client: Client } {
  const service = {} as { client: Client };
  let directory: string;
  let server: Awaited<ReturnType<typeof startServer>> | undefined;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-agents-'));
    server = await startServer({
      dataDir: directory,
      driver: process.getuid?.() === 0 ? 'linux' : 'process',
      apiPort: 0,
      sandboxPort: 0,
      operatorPort: false,
      logLevel: 'error',
      poolSize: 0,
    });
    const { apiUrl, sandboxUrl, apiKey } = server;
    service.client = new Client({ apiUrl, sandboxUrl, apiKey, logLevel: 'off' });
  });
  afterAll(async () => {
    await server?.stop({ destroySandboxes: true });
    await rm(directory, { recursive: true, force: true });
  });
  return service;
}

/** Waits until an endless program runs. */
export async function untilBegun(sandbox: Sandbox, line: string): Promise<void> {
  await eventually(`"${line}" to run`, () => runs(sandbox, line));
}

/** Waits until it does not run any more. */
export async function untilKilled(sandbox: Sandbox, line: string): Promise<void> {
  await eventually(`"${line}" to be killed`, async () => !(await runs(sandbox, line)));
}

async function runs(sandbox: Sandbox, line: string): Promise<boolean> {
  const look = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done 2>/dev/null";
  const { stdout } = await sandbox.commands.run(look, { check: false });
  return stdout.includes(`\n${line} \n`);
}
