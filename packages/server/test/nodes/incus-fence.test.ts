import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { startTrialCluster, stopTrialCluster } from '@svc/runtime/incus';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { run } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';

// Members unpack whole images.
vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

/** Of documentation; the network of the trial cluster leads nowhere else. */
const PUBLIC = '203.0.113.1';

const able = process.getuid?.() === 0 && process.env.SVC_HEAVY === '1';

describe.skipIf(!able)('sandboxes on an Incus cluster with a fence', () => {
  let directory: string | undefined;
  let test: TestServer;
  beforeAll(async () => {
    directory = path.join(await mkdtemp(path.join(tmpdir(), 'svc-incus-')), 'cluster');
    const { members } = await startTrialCluster({ directory, members: 1, diskMiB: 20_480 });
    await addPublicAddress(directory);
    const address = members.map(({ socket }) => socket).join(',');
    test = await startTestServer({ driver: 'incus', incus: { address }, validateResponses: false });
  });
  afterAll(async () => {
    await test?.[Symbol.asyncDispose]();
    if (directory === undefined) return;
    await stopTrialCluster({ directory });
    await rm(path.dirname(directory), { recursive: true, force: true });
  });

  const create = async (body: object) => {
    const { status, body: made } = await test.api('POST', '/v2/sandboxes', {
      templateID: 'base',
      timeout: 3_600,
      ...body,
    });
    expect(status, JSON.stringify(made)).toBe(201);
    return { id: made.sandboxID as string, token: made.envdAccessToken as string };
  };
  /** That nothing listens is an answer too. */
  const isOpen = async (sandbox: { id: string; token: string }) => {
    const answer = await run(
      test,
      sandbox,
      `timeout 5 bash -c '</dev/tcp/${PUBLIC}/80' 2>/dev/null; echo $?`,
    );
    return answer.trim() !== '124';
  };

  it('have no internet access where that is asked for, from the start and from later on', async () => {
    const closed = await create({ allow_internet_access: false });
    const open = await create({});
    expect([await isOpen(closed), await isOpen(open)]).toEqual([false, true]);
    const put = (id: string, allowed: boolean) =>
      test.api('PUT', `/sandboxes/${id}/network`, allowed ? {} : { allow_internet_access: false });
    expect((await put(closed.id, true)).status).toBe(204);
    expect((await put(open.id, false)).status).toBe(204);
    expect([await isOpen(closed), await isOpen(open)]).toEqual([true, false]);
    // Through a pause, of which files alone are kept.
    expect((await test.api('POST', `/sandboxes/${open.id}/pause`, { memory: false })).status).toBe(204);
    expect((await test.api('POST', `/v2/sandboxes/${open.id}/connect`, { timeout: 600 })).status).toBe(201);
    expect(await isOpen(open)).toBe(false);
    for (const { id } of [closed, open])
      expect((await test.api('DELETE', `/sandboxes/${id}`)).status).toBe(204);
  });

  it('are refused with rules for single addresses', async () => {
    const refused = await test.api('POST', '/v2/sandboxes', {
      templateID: 'base',
      network: { denyOut: ['192.0.2.0/24'] },
    });
    expect(refused).toMatchObject({ status: 400, body: { message: expect.stringContaining('denyOut') } });
  });
});

/** Gives the network of a trial cluster an address that is not private. */
async function addPublicAddress(directory: string): Promise<void> {
  const state = await readFile(path.join(directory, 'cluster.json'), 'utf8');
  const { keeper } = JSON.parse(state) as { keeper: { pid: number } };
  const net = `--net=/proc/${keeper.pid}/ns/net`;
  await promisify(execFile)('nsenter', [net, 'ip', 'addr', 'add', `${PUBLIC}/32`, 'dev', 'lo']);
}
