import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { startTestServer } from '../support/server.js';
import { dialect, dropSchema, testStorage } from '../support/server-storage.js';

it.skipIf(dialect === 'sqlite')(
  'the memory of a team is counted over all servers, also when they are asked at once',
  async () => {
    const { storage, schema } = await testStorage();
    const memoryMB = 1_024;
    const shared = {
      ...{ storage, serverKey: randomBytes(32).toString('hex'), validateResponses: false },
      teamLimits: { maxTotalMemoryMiB: 3 * memoryMB },
    };
    const first = await startTestServer(shared);
    const second = await startTestServer(shared);
    try {
      const headers = { 'X-API-Key': first.server.apiKey };
      const [template] = (await first.api('GET', '/templates', undefined, headers)).body;
      expect(template.memoryMB).toBe(memoryMB);
      // Each makes its own: no server passes a create on.
      for (const { server } of [first, second]) server.context.fleet.places = () => Promise.resolve([]);
      const answers = await Promise.all(
        [first, second, first, second, first, second, first, second].map((test) =>
          test.api('POST', '/v2/sandboxes', { templateID: 'base' }, headers),
        ),
      );
      const made = answers.filter(({ status }) => status === 201);
      expect(made).toHaveLength(3);
      for (const { status, body } of answers)
        if (status !== 201)
          expect(body).toMatchObject({ code: 429, message: expect.stringContaining('3072 of 3072 MiB') });
      const { sandboxID: id } = made[0]!.body;
      expect((await second.api('POST', `/sandboxes/${id}/pause`, undefined, headers)).status).toBe(204);
      const wakes = await Promise.all([
        first.api('POST', `/sandboxes/${id}/resume`, {}, headers),
        ...[first, second].map((test) => test.api('POST', '/v2/sandboxes', { templateID: 'base' }, headers)),
      ]);
      expect(wakes.map(({ status }) => status).sort()).toEqual([201, 429, 429]);
    } finally {
      await second[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
      await dropSchema(schema);
    }
  },
);
