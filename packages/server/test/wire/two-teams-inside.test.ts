import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Filesystem, Process, signFilePath } from '@svc/daemon';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { frame } from '#support/connect-frames';
import { run } from '../support/sandboxes.js';
import { secondTeam } from '../support/second-team.js';
import { startTestServer, type TestServer } from '../support/server.js';

/** One request of an operation, without what says who asks. */
interface Asked {
  method: string;
  path: string;
  body?: string | Buffer;
  type?: string;
}

interface Document {
  paths: Record<string, Record<string, { operationId?: string }>>;
}

const read = (name: string): Document =>
  JSON.parse(readFileSync(createRequire(import.meta.url).resolve(name), 'utf8')) as Document;

/** Operations of a document: id, method, path. */
function operationsOf({ paths }: Document): { id: string; method: string; path: string }[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId: id }]) =>
      id === undefined ? [] : [{ id, method: method.toUpperCase(), path }],
    ),
  );
}

/** A request for each operation of the volume content API: the query, and a body. A new one has no row and fails. */
const CONTENT: Record<string, { query: string; body?: string; type?: string }> = {
  getVolumePath: { query: 'path=/secret' },
  updateVolumePath: { query: 'path=/secret', body: '{"mode": 511}', type: 'application/json' },
  deleteVolumePath: { query: 'path=/secret' },
  listVolumeDir: { query: 'path=/' },
  createVolumeDir: { query: 'path=/planted' },
  readVolumeFile: { query: 'path=/secret' },
  writeVolumeFile: { query: 'path=/secret&force=true', body: 'overwritten' },
};

/** The same for the daemon's HTTP routes. */
const ROUTES: Record<string, { query: string; body?: string; type?: string }> = {
  getHealth: { query: '' },
  getMetrics: { query: '' },
  getEnvs: { query: '' },
  readFile: { query: 'path=secret' },
  writeFiles: { query: 'path=secret', body: 'overwritten', type: 'application/octet-stream' },
  composeFiles: {
    query: '',
    body: '{"path": "secret", "sources": ["secret"]}',
    type: 'application/json',
  },
};

/** Routes of the daemon that ask for nothing and tell nothing: whether the sandbox lives is known to who knows its id. */
const OPEN = new Set(['getHealth']);

/** The same for its RPCs: a message. */
const RPCS: Record<string, unknown> = {
  'process.Process/Start': { process: { cmd: '/bin/sh', args: ['-c', 'echo planted > planted'] } },
  'process.Process/Connect': { process: { pid: 1 } },
  'process.Process/List': {},
  'process.Process/Update': { process: { pid: 1 } },
  'process.Process/StreamInput': { start: { process: { pid: 1 } } },
  'process.Process/SendInput': { process: { pid: 1 } },
  'process.Process/SendSignal': { process: { tag: 'mine' }, signal: 'SIGNAL_SIGKILL' },
  'process.Process/CloseStdin': { process: { pid: 1 } },
  'filesystem.Filesystem/Stat': { path: 'secret' },
  'filesystem.Filesystem/MakeDir': { path: 'planted' },
  'filesystem.Filesystem/Move': { source: 'secret', destination: 'moved' },
  'filesystem.Filesystem/ListDir': { path: '.' },
  'filesystem.Filesystem/Remove': { path: 'secret' },
  'filesystem.Filesystem/WatchDir': { path: '.' },
  'filesystem.Filesystem/CreateWatcher': { path: '.' },
  'filesystem.Filesystem/GetWatcherEvents': { watcherId: 'x' },
  'filesystem.Filesystem/RemoveWatcher': { watcherId: 'x' },
};

const SECRET = 'secret-of-a';

interface Team {
  headers: Record<string, string>;
  sandbox: { id: string; token: string };
  volume: { volumeID: string; token: string };
}

let test: TestServer;
let a: Team;
let b: Team;
let home: string;

async function makeTeam(slug: string): Promise<Team> {
  const { headers } = await secondTeam(test, slug);
  const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base' }, headers);
  const volume = await test.api('POST', '/volumes', { name: `volume-of-${slug}` }, headers);
  expect([made.status, volume.status]).toEqual([201, 201]);
  return {
    headers,
    sandbox: { id: made.body.sandboxID, token: made.body.envdAccessToken },
    volume: volume.body as Team['volume'],
  };
}

beforeAll(async () => {
  test = await startTestServer();
  a = await makeTeam('inside-a');
  b = await makeTeam('inside-b');
  const put = await ask(
    test.server.apiUrl,
    { method: 'PUT', path: `/volumecontent/${a.volume.volumeID}/file?path=/secret`, body: SECRET },
    { Authorization: `Bearer ${a.volume.token}` },
  );
  expect(put.status).toBe(201);
  home = (await run(test, a.sandbox, `printf ${SECRET} > secret; pwd`)).trim();
});
afterAll(() => test[Symbol.asyncDispose]());

async function ask(base: string, { method, path, body, type }: Asked, headers: Record<string, string>) {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: { ...headers, ...(type === undefined ? {} : { 'Content-Type': type }) },
    ...(body === undefined ? {} : { body: body as BodyInit }),
    signal: AbortSignal.timeout(10_000),
  });
  return { status: response.status, text: await response.text() };
}

describe('the contract', () => {
  it('has a row here for every operation on content of volumes', () => {
    const ids = operationsOf(read('@svc/platform/volumes.openapi.json')).map(({ id }) => id);
    expect(Object.keys(CONTENT).sort()).toEqual(ids.sort());
  });

  it('has a row here for every route and every RPC of the daemon', () => {
    const ids = operationsOf(read('@svc/daemon/openapi.json')).map(({ id }) => id);
    expect(Object.keys(ROUTES).sort()).toEqual(ids.sort());
    const rpcs = [Process, Filesystem].flatMap((service) =>
      service.methods.map(({ name }) => `${service.typeName}/${name}`),
    );
    expect(Object.keys(RPCS).sort()).toEqual(rpcs.sort());
  });
});

describe("the content of team A's volume", () => {
  it.each(operationsOf(read('@svc/platform/volumes.openapi.json')))(
    'is closed to team B and to nobody in particular: $id',
    async ({ id, method, path }) => {
      const { query, ...rest } = CONTENT[id]!;
      const at = (volumeID: string) => ({
        method,
        path: `${path.replace('{volumeID}', volumeID)}?${query}`,
        ...rest,
      });
      const strangers: Record<string, string>[] = [
        { Authorization: `Bearer ${b.volume.token}` },
        { ...b.headers },
        { ...b.headers, Authorization: `Bearer ${b.volume.token}` },
        { Authorization: `Bearer ${b.sandbox.token}` },
        { Authorization: `Bearer ${a.volume.token}x` },
        {},
      ];
      const unknown = randomUUID();
      for (const headers of strangers) {
        const answer = await ask(test.server.apiUrl, at(a.volume.volumeID), headers);
        expect([401, 403], JSON.stringify(headers)).toContain(answer.status);
        expect(answer.text).not.toContain(SECRET);
        // Exactly as for one that is not there.
        expect(answer).toEqual(await ask(test.server.apiUrl, at(unknown), headers));
      }
      // A's token opens A's volume alone.
      const other = await ask(test.server.apiUrl, at(b.volume.volumeID), {
        Authorization: `Bearer ${a.volume.token}`,
      });
      expect(other.status).toBe(403);
    },
  );

  it('is as it was', async () => {
    const headers = { Authorization: `Bearer ${a.volume.token}` };
    const base = `/volumecontent/${a.volume.volumeID}`;
    const file = await ask(test.server.apiUrl, { method: 'GET', path: `${base}/file?path=/secret` }, headers);
    expect(file).toEqual({ status: 200, text: SECRET });
    const listed = await ask(test.server.apiUrl, { method: 'GET', path: `${base}/dir?path=/` }, headers);
    expect((JSON.parse(listed.text) as { path: string; mode: number }[]).map(({ path }) => path)).toEqual([
      '/secret',
    ]);
  });
});

/** Headers with which a stranger may ask for A's sandbox. */
async function strangersOf(query: string): Promise<{ headers: Record<string, string>; query: string }[]> {
  const signature = await signFilePath({ path: 'secret', operation: 'read', accessToken: b.sandbox.token });
  return [
    { headers: {}, query },
    { headers: { 'X-Access-Token': b.sandbox.token }, query },
    { headers: { 'X-Access-Token': `${a.sandbox.token}x` }, query },
    { headers: { ...b.headers }, query },
    { headers: { Authorization: `Bearer ${b.sandbox.token}` }, query },
    { headers: { 'X-Access-Token': b.volume.token }, query },
    { headers: {}, query: `${query}&signature=${encodeURIComponent(signature)}` },
  ];
}

describe("what team A's sandbox runs and stores", () => {
  const there = () => ({ 'Svc-Sandbox-Id': a.sandbox.id, 'Svc-Sandbox-Port': '49983' });

  it.each(operationsOf(read('@svc/daemon/openapi.json')).filter(({ id }) => !OPEN.has(id)))(
    'is closed to team B: $id',
    async ({ id, method, path }) => {
      const { query: own, ...rest } = ROUTES[id]!;
      for (const { headers, query } of await strangersOf(own)) {
        const asked = { method, path: `${path}?${query}`, ...rest };
        const answer = await ask(test.server.sandboxUrl, asked, { ...headers, ...there() });
        expect([401, 403], JSON.stringify(headers)).toContain(answer.status);
        expect(answer.text).not.toContain(SECRET);
      }
    },
  );

  it.each(Object.entries(RPCS))('is closed to team B: %s', async (name, message) => {
    const streams = /\/(Start|Connect|StreamInput|WatchDir)$/.test(name);
    for (const { headers } of await strangersOf('')) {
      const answer = await ask(
        test.server.sandboxUrl,
        {
          method: 'POST',
          path: `/${name}`,
          body: streams ? frame(message as object) : JSON.stringify(message),
          type: streams ? 'application/connect+json' : 'application/json',
        },
        { ...headers, ...there(), 'Connect-Protocol-Version': '1' },
      );
      const refused = streams && answer.status === 200 ? answer.text : String(answer.status);
      expect(refused, JSON.stringify(headers)).toMatch(/^40[13]$|unauthenticated|permission_denied/);
      expect(answer.text).not.toContain(SECRET);
    }
  });

  it('is as it was', async () => {
    expect(await run(test, a.sandbox, `ls ${home}; cat ${home}/secret`)).toBe(`secret\n${SECRET}`);
  });
});
