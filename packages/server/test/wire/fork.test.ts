import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '#support/eventually';
import type { ServerOptions } from '../../src/index.js';
import { fromJson, toJson } from '../../src/storage/json.js';
import { failEnds } from '../support/fail-ends.js';
import { createMemoryDriver, holdRestores, type MemoryDriver } from '../support/memory-driver.js';
import { createSandbox } from '../support/sandboxes.js';
import { type ApiAnswer, startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
let driver: MemoryDriver;
let directory: string;

async function start(options: Partial<ServerOptions>): Promise<void> {
  directory = await mkdtemp(path.join(tmpdir(), 'svc-fork-'));
  driver = await createMemoryDriver(directory);
  test = await startTestServer({ driver, ...options });
  onTestFinished(async () => {
    await test[Symbol.asyncDispose]();
    await driver.close({ destroyInstances: true });
    await rm(directory, { recursive: true, force: true });
  });
}

const fork = (id: string, body: object): Promise<ApiAnswer> =>
  test.api('POST', `/sandboxes/${id}/fork`, body);
const errorsOf = (answer: ApiAnswer) =>
  (answer.body as { error?: { code: number; error_code?: string } }[])
    .filter((entry) => entry.error !== undefined)
    .map(({ error }) => [error!.code, error!.error_code].filter((part) => part !== undefined).join(' '));

async function nothingLeft(): Promise<void> {
  expect([...driver.stored]).toEqual([]);
  const { db } = test.server.context;
  expect(await db.selectFrom('checkpoints').select('id').execute()).toEqual([]);
  expect(await db.selectFrom('sandboxes').select('id').where('state', '=', 'creating').execute()).toEqual([]);
}

describe('forkSandbox', () => {
  it('of 100 is refused to nobody: what the team may not run fails with 429 by entry', async () => {
    await start({ teamLimits: { maxConcurrentSandboxes: 3 } });
    const { id } = await createSandbox(test);
    const answer = await fork(id, { count: 100, timeout: 60 });
    expect(answer.status).toBe(201);
    expect(answer.body).toHaveLength(100);
    expect(errorsOf(answer)).toEqual(Array.from({ length: 98 }, () => '429'));
    await nothingLeft();
  });
  it('says of each fork what it is a fork of, forks of forks too', async () => {
    await start({});
    const { id } = await createSandbox(test);
    const [{ sandbox: child }] = (await fork(id, { timeout: 600 })).body;
    const [{ sandbox: grandchild }] = (await fork(child.sandboxID, { timeout: 600 })).body;
    const parentOf = async (of: string) => (await test.api('GET', `/sandboxes/${of}`)).body.forkedFrom;
    expect(await Promise.all([id, child.sandboxID, grandchild.sandboxID].map(parentOf))).toEqual([
      undefined,
      id,
      child.sandboxID,
    ]);
    expect((await test.api('DELETE', `/sandboxes/${id}`)).status).toBe(204);
    expect(await parentOf(child.sandboxID)).toBe(id);
    const { body } = await test.api('GET', '/v2/sandboxes?order=asc');
    expect(body.map(({ forkedFrom }: { forkedFrom?: string }) => forkedFrom)).toEqual([id, child.sandboxID]);
  });
  it('stays within the sandboxes of the server, with 503 by entry', async () => {
    await start({ maxSandboxes: 3 });
    const { id } = await createSandbox(test);
    const answer = await fork(id, { count: 8, timeout: 60 });
    expect(answer.status).toBe(201);
    expect(errorsOf(answer)).toEqual(Array.from({ length: 6 }, () => '503 sandbox_capacity_unavailable'));
    expect(test.server.context.sandboxes.size).toBe(3);
    expect(test.server.context.sandboxes.starting).toBe(0);
    await nothingLeft();
  });
  it('keeps the snapshot until the last fork has started from it', async () => {
    await start({});
    const { id } = await createSandbox(test);
    let restores = 0;
    const others: (() => void)[] = [];
    driver.beforeRestore = async () => {
      restores += 1;
      if (restores === 1) throw new Error('no luck');
      await new Promise<void>((go) => others.push(go));
    };
    const pending = fork(id, { count: 3, timeout: 60 });
    await eventually('two forks wait and one failed', () => others.length === 2);
    others[0]!();
    await eventually('one fork runs', () => runningForks(id) === 1);
    expect(driver.stored.size).toBe(1);
    others[1]!();
    const answer = await pending;
    expect(errorsOf(answer)).toEqual(['500 internal_server_error']);
    await nothingLeft();
  });
  it('of a sandbox whose volume was deleted makes nothing, rather than forks with an empty directory', async () => {
    await start({});
    const volume = await test.api('POST', '/volumes', { name: 'doomed' });
    const { id } = await createSandbox(test);
    const live = test.server.context.sandboxes.get(id)!;
    const mounts = [{ name: 'doomed', path: '/data', volumeId: volume.body.volumeID }];
    live.row = { ...live.row, config: toJson({ ...fromJson(live.row.config), mounts }) };
    expect((await test.api('DELETE', `/volumes/${volume.body.volumeID}`)).status).toBe(204);
    const answer = await fork(id, { count: 2 });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain("[0] volume 'doomed' at /data");
    expect((await test.api('GET', `/sandboxes/${id}`)).body.state).toBe('running');
    await nothingLeft();
  });
  it('that runs out of time names the forks that started, with 504 for the others', async () => {
    await start({});
    const { id } = await createSandbox(test);
    test.server.context.config.requestTimeoutMs = 6_000;
    holdRestores(driver, { after: 1 });
    const answer = await fork(id, { count: 3, timeout: 60 });
    expect(answer.status).toBe(201);
    expect(errorsOf(answer)).toEqual(['504 sandbox_placement_timeout', '504 sandbox_placement_timeout']);
    await nothingLeft();
  });
  it('leaves no fork without an answer when the client leaves, also when one cannot be ended at once', async () => {
    await start({});
    const { id } = await createSandbox(test);
    const restores = holdRestores(driver, { after: 2 });
    const client = new AbortController();
    const pending = fetch(`${test.server.apiUrl}/sandboxes/${id}/fork`, {
      method: 'POST',
      headers: { 'X-API-Key': test.server.apiKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ count: 3, timeout: 600 }),
      signal: client.signal,
    });
    await eventually('two forks run, one waits', () => runningForks(id) === 2 && restores() === 3);
    const failures = failEnds(test, 2);
    client.abort();
    await expect(pending).rejects.toThrow();
    await eventually('the source alone is left', () => test.server.context.sandboxes.size === 1);
    expect(failures.left).toBe(0);
    expect((await test.api('GET', `/sandboxes/${id}`)).body.state).toBe('running');
    await nothingLeft();
  });
});

describe('a limit of sandboxes', () => {
  it('holds against creates that come at once', async () => {
    await start({ maxSandboxes: 2 });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => test.api('POST', '/v2/sandboxes', { templateID: 'base' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 503, 503, 503, 503, 503, 503]);
  });
  it('lets a paused sandbox take the last place', async () => {
    await start({ maxSandboxes: 2 });
    const { id } = await createSandbox(test);
    await test.api('POST', `/sandboxes/${id}/pause`);
    await createSandbox(test);
    expect((await test.api('POST', `/v2/sandboxes/${id}/connect`)).status).toBe(201);
  });
});

function runningForks(sourceId: string): number {
  return [...test.server.context.sandboxes.values()].filter(
    ({ row }) => row.id !== sourceId && row.state === 'running',
  ).length;
}
