import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { startTestServer } from '../support/server.js';
import { dialect, dropSchema, testStorage } from '../support/server-storage.js';

it.skipIf(dialect === 'sqlite')(
  'three servers that start at once on an empty PostgreSQL all come up',
  async () => {
    const { storage, schema } = await testStorage();
    const shared = { storage, serverKey: randomBytes(32).toString('hex') };
    const servers = await Promise.all([1, 2, 3].map(() => startTestServer(shared)));
    try {
      const { db } = servers[0]!.server.context;
      expect(await db.selectFrom('teams').select('slug').execute()).toEqual([{ slug: 'default' }]);
      expect(await db.selectFrom('templates').select('id').execute()).toHaveLength(1);
      for (const server of servers) expect((await server.api('GET', '/templates')).body).toHaveLength(1);
    } finally {
      for (const server of servers) await server[Symbol.asyncDispose]();
      await dropSchema(schema);
    }
  },
);
