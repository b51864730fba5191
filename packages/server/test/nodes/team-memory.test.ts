import { expect, it } from 'vitest';
import type { TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';
import { startSharedServers } from '../support/shared-servers.js';

it.skipIf(dialect === 'sqlite')(
  'the memory of a team is counted over all servers, also when they are asked at once',
  async () => {
    const memoryMB = 1_024;
    await using shared = await startSharedServers(2, () => ({
      teamLimits: { maxTotalMemoryMiB: 3 * memoryMB },
    }));
    const [first, second] = shared.servers as [TestServer, TestServer];
    const create = (test: TestServer) => shared.ask(test, 'POST', '/v2/sandboxes', { templateID: 'base' });
    const [template] = (await shared.ask(first, 'GET', '/templates')).body;
    expect(template.memoryMB).toBe(memoryMB);
    // Each makes its own: no server passes a create on.
    for (const { server } of [first, second]) server.context.fleet.places = () => Promise.resolve([]);
    const answers = await Promise.all(
      [first, second, first, second, first, second, first, second].map(create),
    );
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(3);
    for (const { status, body } of answers)
      if (status !== 201)
        expect(body).toMatchObject({ code: 429, message: expect.stringContaining('3072 of 3072 MiB') });
    const { sandboxID: id } = made[0]!.body;
    expect((await shared.ask(second, 'POST', `/sandboxes/${id}/pause`)).status).toBe(204);
    const wakes = await Promise.all([
      shared.ask(first, 'POST', `/sandboxes/${id}/resume`, {}),
      ...[first, second].map(create),
    ]);
    expect(wakes.map(({ status }) => status).sort()).toEqual([201, 429, 429]);
  },
);
