import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NodeRecord } from '../../src/api/context/nodes.js';
import { moveSandbox } from '../../src/cluster/fleet/move-sandbox.js';
import { follow } from '../../src/cluster/routing/route.js';
import { wakeOrMove } from '../../src/cluster/routing/route-to-node.js';
import { toJson } from '../../src/storage/json.js';
import type { Database } from '../../src/storage/schema.js';
import { sandboxRow } from '../support/sandbox-row.js';
import { createTestStorage, type Dialect, dialects, type TestStorage } from '../support/storage.js';

const machine = { arch: 'x64', kernel: '6.1.0', cpuFeatures: ['sse2'] };
const report = {
  ...{ version: '0', driver: 'linux', running: 0, maxSandboxes: 10, pooled: 0, cpuCount: 2, load: 0 },
  ...{ memoryFreeMiB: 4_000, memoryTotalMiB: 8_000, diskFreeMiB: 10_000, machine },
};
const node = (id: string): NodeRecord => ({ id, apiUrl: '', sandboxUrl: '', acknowledges: true });

describe.each(dialects)('a paused sandbox on a drained node, with its records on %s', (dialect: Dialect) => {
  let stored: TestStorage;
  let db: Database;
  const asked: string[] = [];
  /** This node is drained and has the sandbox; another has room for it. */
  const context = () =>
    ({
      db,
      nodes: { nodeId: 'drained', shared: true, drain: 'new' },
      fleet: {
        places: async () =>
          ['drained', 'empty'].map((id) => ({
            record: node(id),
            place: { nodeId: id, here: id === 'drained', drained: id === 'drained', report, sent: 0 },
          })),
      },
      copies: {
        possible: true,
        forwarder: {
          open: async (to: NodeRecord, { url }: { url: string }) => {
            asked.push(`${to.id} ${url}`);
            // It does what it says.
            await db.updateTable('sandboxes').set({ node_id: to.id }).where('id', '=', 'paused').execute();
            return Object.assign(new PassThrough(), { statusCode: 204 });
          },
        },
      },
      log: { warn: () => undefined },
      signal: new AbortController().signal,
    }) as never as Parameters<typeof moveSandbox>[0];

  beforeAll(async () => {
    stored = await createTestStorage(dialect);
    ({ db } = await stored.open());
    await db
      .insertInto('sandboxes')
      .values(
        sandboxRow({
          ...{ id: 'paused', team_id: 'owner', state: 'paused', node_id: 'drained', checkpoint_id: 'c' },
          config: toJson({ mounts: [] } as never),
        }),
      )
      .execute();
  });
  afterAll(async () => {
    await db?.destroy();
    await stored?.remove();
  });

  const connectAs = (teamId: string) =>
    follow(wakeOrMove(context(), { sandboxId: 'paused', teamId }), async (destination) =>
      destination.kind === 'node' ? `answered by ${destination.node.id}` : `answered ${destination.kind}`,
    );

  it('is moved by no request of another team, which would cost the copies of all that it has', async () => {
    expect(await connectAs('stranger')).toBe('answered here');
    expect(await moveSandbox(context(), { sandboxId: 'paused', teamId: 'stranger' })).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it('goes where there is room for its own team', async () => {
    expect(await connectAs('owner')).toBe('answered by empty');
    expect(asked).toEqual(['empty /node/sandboxes/paused/take?version=1']);
  });
});
