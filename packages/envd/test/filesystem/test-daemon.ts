import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { connectNodeAdapter, createConnectTransport } from '@connectrpc/connect-node';
import { Filesystem } from '@svc/daemon/gen';
import { expect } from 'vitest';
import type { EnvdContext } from '../../src/context.js';
import { createFileRoutes } from '../../src/files/index.js';
import { registerFilesystem } from '../../src/filesystem/index.js';
import { createGate } from '../../src/gate.js';
import { createTokenStore } from '../../src/token/token-store.js';
import { createUsers } from '../../src/users/index.js';

export interface TestDaemonOptions {
  /** Real users from account files of the test; else one user only. */
  accounts?: boolean;
  workdir?: string;
}

/** A server with the file RPCs and routes alone, over a temporary home. Its account files know `user` (65534) and `root`. */
export async function startTestDaemon(options: TestDaemonOptions = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'envd-files-'));
  const home = join(directory, 'home');
  const files = { passwd: join(directory, 'passwd'), group: join(directory, 'group') };
  await writeFile(files.passwd, `root:x:0:0:root:/root:/bin/sh\nuser:x:65534:65534::${home}:/bin/sh\n`);
  await writeFile(files.group, 'root:x:0:\nmembers:x:65534:\n');
  const token = createTokenStore();
  let now = Date.now();
  const context: EnvdContext = {
    users: createUsers({ files, ...(options.accounts ? {} : { singleUser: { home } }) }),
    defaults: { user: 'user', workdir: options.workdir },
    token,
    gate: createGate(),
    envVars: {},
    trustVars: {},
    ...(options.accounts ? {} : { singleUser: { home } }),
    now: () => now,
  };
  const routes = createFileRoutes(context);
  const rpc = connectNodeAdapter({ routes: (router) => registerFilesystem(router, context) });
  const server = createServer((request, response) => {
    const path = request.url!.split('?', 1)[0]!;
    if (!routes.handle(request, response, path)) rpc(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await mkdir(home);
  return {
    home,
    baseUrl,
    token,
    files,
    setNow: (ms: number) => {
      now = ms;
    },
    client: createClient(Filesystem, createConnectTransport({ baseUrl, httpVersion: '1.1' })),
    url: (query: Record<string, string>, path = '/files') =>
      `${baseUrl}${path}?${new URLSearchParams(query)}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export type TestDaemon = Awaited<ReturnType<typeof startTestDaemon>>;

/** Waits for a call to fail with a code; answers its message. */
export async function expectCode(call: Promise<unknown>, code: Code): Promise<string> {
  const error = await call.then(
    () => undefined,
    (reason) => ConnectError.from(reason),
  );
  expect(error && Code[error.code], error?.message ?? 'the call succeeded').toBe(Code[code]);
  return error!.rawMessage;
}
