import { chmod } from 'node:fs/promises';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { Filesystem } from '@svc/daemon/gen';
import { expect } from 'vitest';
import { startDaemon } from '../test-daemon.js';

export interface TestDaemonOptions {
  /** The daemon is root and takes on the users of this system, who may all do everything in the home; else it has one user only. */
  accounts?: boolean;
  workdir?: string;
}

/** The daemon over a temporary home. */
export async function startTestDaemon(options: TestDaemonOptions = {}) {
  const daemon = await startDaemon({ multiUser: options.accounts ?? false });
  const { home, url: baseUrl, pid } = daemon;
  if (options.accounts) await chmod(home, 0o777);
  const init = async (body: object) => {
    const response = await fetch(`${baseUrl}/init`, { method: 'POST', body: JSON.stringify(body) });
    expect(response.status).toBe(204);
  };
  if (options.workdir !== undefined) await init({ defaultWorkdir: options.workdir });
  return {
    home,
    baseUrl,
    pid,
    setToken: (accessToken: string) => init({ accessToken }),
    client: createClient(Filesystem, createConnectTransport({ baseUrl, httpVersion: '1.1' })),
    url: (query: Record<string, string>, path = '/files') =>
      `${baseUrl}${path}?${new URLSearchParams(query)}`,
    [Symbol.asyncDispose]: () => daemon.stop(),
  };
}

export type TestDaemon = Awaited<ReturnType<typeof startTestDaemon>>;

/** Headers that choose the user of a call. */
export const as = (user: string) => ({ Authorization: `Basic ${btoa(`${user}:`)}` });

/** Waits for a call to fail with a code; answers its message. */
export async function expectCode(call: Promise<unknown>, code: Code): Promise<string> {
  const error = await call.then(
    () => undefined,
    (reason) => ConnectError.from(reason),
  );
  expect(error && Code[error.code], error?.message ?? 'the call succeeded').toBe(Code[code]);
  return error!.rawMessage;
}
