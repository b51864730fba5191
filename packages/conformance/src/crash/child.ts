import { type Server, type ServerOptions, startServer } from '@svc/server';
import { embeddedOptions, type Tier } from '../embedded-options.js';

/** The child's report when its server is up. */
export type Facts = Pick<Server, 'apiUrl' | 'sandboxUrl' | 'operatorUrl' | 'operatorToken' | 'apiKey'>;

/** The child's report when asked: the sandboxes on record and those of the driver. */
export interface Inspection {
  rows: { id: string; state: string; endAt: number; checkpointId: string | null }[];
  instances: { id: string; state: string }[];
  checkpoints: string[];
}

/** A server in a process of its own, which may be killed at any moment. Arguments: data directory, tier, more settings. */
const [dataDir, tier, settings] = process.argv.slice(2) as [string, Tier, string];
const server = await startServer({
  ...embeddedOptions(dataDir, tier),
  poolSize: tier === 'process' ? 0 : 1,
  ...(JSON.parse(settings) as Partial<ServerOptions>),
});

process.on('message', async (message: unknown) => {
  if (message === 'inspect') {
    const { db } = server.context;
    const rows = await db
      .selectFrom('sandboxes')
      .select(['id', 'state', 'end_at', 'checkpoint_id'])
      .execute();
    const instances = await server.driver.list();
    const checkpoints = await server.driver.listCheckpoints();
    process.send!({
      rows: rows.map((row) => ({
        id: row.id,
        state: row.state,
        endAt: row.end_at,
        checkpointId: row.checkpoint_id,
      })),
      instances: instances.map(({ id, state }) => ({ id, state })),
      checkpoints: checkpoints.map((one) => one.id),
    } satisfies Inspection);
  }
  if (message === 'stop') {
    await server.stop({ destroySandboxes: true });
    process.disconnect();
  }
});

const { apiUrl, sandboxUrl, operatorUrl, operatorToken, apiKey } = server;
process.send!({ apiUrl, sandboxUrl, operatorUrl, operatorToken, apiKey } satisfies Facts);
