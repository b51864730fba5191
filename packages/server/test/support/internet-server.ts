import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createOperatorClient } from '@svc/platform/operator';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { type FakeInternet, startFakeInternet, WORLD } from '@svc/runtime/testing';
import { findHindrance, findServiceUser } from '../../src/storage/data/service-user.js';
import { childEnvironment, startChildServer } from './child-server.js';
import { run } from './sandboxes.js';
import type { ApiAnswer, TestServer } from './server.js';
import { childStorage, dropSchema } from './server-storage.js';

/** A whole server, two processes on the linux driver, where the only internet is a fake one. */
export interface InternetServer {
  readonly internet: FakeInternet;
  /** The members that the helpers of tests need. */
  readonly test: TestServer;
  readonly dataDir: string;
  /** Of the server's first process. */
  readonly pid: number;
  readonly operator: ReturnType<typeof createOperatorClient>;
  close(): Promise<void>;
}

/** Why there can be none on this host; undefined when there can. */
export async function lacksInternetServer(): Promise<string | undefined> {
  if (process.getuid?.() !== 0 || !linuxDriverCanRun(await checkHost()))
    return 'the linux driver needs root, and a host that can run it';
  return findHindrance(await findServiceUser(), tmpdir());
}

/** Starts one on the database of this run of the tests. */
export async function startInternetServer(): Promise<InternetServer> {
  const closing: (() => Promise<unknown> | undefined)[] = [];
  const close = async () => {
    for (const end of closing.splice(0).reverse()) await end();
  };
  try {
    const directory = await mkdtemp(path.join(tmpdir(), 'egress-'));
    closing.push(() => rm(directory, { recursive: true, force: true }));
    await chmod(directory, 0o711);
    const internet = await startFakeInternet();
    closing.push(() => internet.close());
    const storage = await childStorage();
    closing.push(() => dropSchema(storage.schema));
    const dataDir = path.join(directory, 'data');
    const roots = path.join(directory, 'roots.pem');
    await writeFile(roots, internet.ca);
    const config = path.join(directory, 'config.yaml');
    await writeFile(config, JSON.stringify({ egress: { dns: [WORLD.resolver], trustedRoots: roots } }));
    const operatorToken = randomBytes(16).toString('hex');
    const server = await startChildServer(
      {
        ...childEnvironment(dataDir, 'linux'),
        SVC_CONFIG: config,
        SVC_POOL_SIZE: '1',
        SVC_OPERATOR_TOKEN: operatorToken,
        ...(await databaseIn(internet, storage.url)),
      },
      { within: internet.inside([]) },
    );
    closing.push(() => server.stop());
    const reach = async (url: string) =>
      `http://127.0.0.1:${await internet.forward(Number(new URL(url).port))}`;
    const apiUrl = await reach(server.apiUrl);
    const sandboxUrl = await reach(server.sandboxUrl);
    const { apiKey } = JSON.parse(readFileSync(path.join(dataDir, 'server/credentials.json'), 'utf8')) as {
      apiKey: string;
    };
    const test = { server: { apiUrl, sandboxUrl, apiKey }, dataDir, api: caller(apiUrl, apiKey) };
    return {
      internet,
      test: test as unknown as TestServer,
      dataDir,
      pid: server.child.pid!,
      operator: createOperatorClient({ baseUrl: await reach(server.operatorUrl), token: operatorToken }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Where the server finds a database of this process's loopback. */
async function databaseIn(internet: FakeInternet, url: string | undefined): Promise<Record<string, string>> {
  if (url === undefined) return {};
  const lent = new URL(url);
  lent.port = String(await internet.lend(Number(lent.port)));
  return { SVC_POSTGRES_URL: lent.href, SVC_SERVER_KEY: randomBytes(32).toString('hex') };
}

function caller(apiUrl: string, apiKey: string) {
  return async (method: string, target: string, body?: unknown): Promise<ApiAnswer> => {
    const answer = await fetch(`${apiUrl}${target}`, {
      method,
      headers: {
        'X-API-Key': apiKey,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  };
}

/** Requests from inside a sandbox: the status of the answer, or `no`. */
export async function statusInside(
  test: TestServer,
  sandbox: { id: string; token: string },
  url: string,
): Promise<string> {
  const command = `curl -s -m 10 -o /dev/null -w '%{http_code}' '${url}' || echo no`;
  return (await run(test, sandbox, command)).trim().replace(/^000no$/, 'no');
}
