import { clusterStatus } from '@svc/runtime/incus';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '#support/eventually';
import { type IncusFixture, startIncusFixture } from '../support/incus-fixture.js';
import { operate } from '../support/operate.js';
import { run } from '../support/sandboxes.js';
import type { TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';

// Members unpack whole images.
vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

const able = process.getuid?.() === 0 && process.env.SVC_HEAVY === '1';

/** The first one can be killed; the second one is in this process. */
describe.skipIf(dialect === 'sqlite' || !able)('two servers over one Incus cluster', () => {
  let fixture: IncusFixture;
  let second: TestServer;
  beforeAll(async () => {
    fixture = await startIncusFixture({ poolSize: 2 });
    second = fixture.second;
  });
  afterAll(() => fixture?.close());

  interface NodeWire {
    nodeID: string;
    state: string;
    report: { pooled: number } | null;
  }
  const firstNode = async () =>
    ((await operate(second.server, 'GET', '/nodes')).body as NodeWire[]).find(
      ({ nodeID }) => nodeID !== second.server.context.config.nodeId,
    );
  const rows = () =>
    second.server.context.db.selectFrom('sandboxes').select(['id', 'node_id', 'state']).execute();
  const nodeOf = async (id: string) => (await rows()).find((row) => row.id === id)?.node_id;
  const instances = async () => {
    const { members, checkpoints } = await clusterStatus({ address: fixture.address });
    return members.reduce((sum, { sandboxes }) => sum + sandboxes, 0) + checkpoints;
  };
  /** On the first server, whichever is emptier. */
  const createThere = async (body: object) => {
    const ids = new Set((await rows()).map(({ id }) => id));
    for (;;) {
      const response = await fetch(`${fixture.first.apiUrl}/v2/sandboxes`, {
        method: 'POST',
        headers: { 'X-API-Key': second.server.apiKey, 'Content-Type': 'application/json' },
        body: JSON.stringify({ templateID: 'base', timeout: 600, ...body }),
      });
      const made = (await response.json()) as { sandboxID: string; envdAccessToken: string };
      expect(response.status, JSON.stringify(made)).toBe(201);
      if ((await nodeOf(made.sandboxID)) !== second.server.context.config.nodeId)
        return { id: made.sandboxID, token: made.envdAccessToken };
      expect(ids.size).toBe(0);
      expect((await second.api('DELETE', `/sandboxes/${made.sandboxID}`)).status).toBe(204);
    }
  };

  it('continue with each other’s sandboxes when one is killed, and it takes nothing of them back', async () => {
    await eventually('the pool is full', async () => (await firstNode())?.report?.pooled === 2, 800_000);
    // New sandboxes stay where they are asked for.
    await operate(second.server, 'POST', `/nodes/${second.server.context.config.nodeId}/drain`, {
      sandboxes: 'keep',
    });
    await eventually('it is drained', () => second.server.context.nodes.drain === 'keep');
    const kept = await createThere({});
    const brief = await createThere({ timeout: 60 });
    const paused = await createThere({ autoPause: true, autoPauseMemory: false });
    const killed = await createThere({});
    for (const sandbox of [kept, brief, paused, killed])
      await run(second, sandbox, `echo ${sandbox.id} > note`);
    expect((await second.api('POST', `/sandboxes/${paused.id}/pause`, { memory: false })).status).toBe(204);
    await fixture.first.kill();
    const killedAtMs = performance.now();
    await eventually(
      'a command is answered',
      async () => (await run(second, kept, 'cat note').catch(() => '')) === `${kept.id}\n`,
    );
    console.info(
      `taken over ${Math.round(performance.now() - killedAtMs)} ms after the other server was killed`,
    );
    expect((await second.api('DELETE', `/sandboxes/${killed.id}`)).status).toBe(204);
    const woken = await second.api('POST', `/v2/sandboxes/${paused.id}/connect`, { timeout: 600 });
    expect(woken.status).toBe(201);
    expect(await run(second, paused, 'cat note')).toBe(`${paused.id}\n`);
    await eventually(
      'all are taken over',
      async () => new Set((await rows()).map((row) => row.node_id)).size === 1,
    );
    second.advance(120_000);
    await eventually('its time is over', async () => (await nodeOf(brief.id)) === undefined);
    await fixture.startFirst();
    await eventually('it is back', async () => (await firstNode())?.state === 'alive');
    for (const sandbox of [kept, paused])
      expect(await run(second, sandbox, 'cat note')).toBe(`${sandbox.id}\n`);
    expect((await rows()).map(({ id }) => id).sort()).toEqual([kept.id, paused.id].sort());
    for (const { id } of [kept, paused])
      expect((await second.api('DELETE', `/sandboxes/${id}`)).status).toBe(204);
    await fixture.first.stop();
    await eventually('nothing is left', async () => (await instances()) === 0);
  });
});
