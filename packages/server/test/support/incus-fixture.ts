import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startTrialCluster, stopTrialCluster } from '@svc/runtime/incus';
import { type ChildServer, childEnvironment, startChildServer } from './child-server.js';
import { startTestServer, type TestServer } from './server.js';
import { childStorage, dropSchema } from './server-storage.js';

/** Two servers over one trial cluster of Incus, on one PostgreSQL. */
export interface IncusFixture {
  /** Of all members, as a server takes it. */
  address: string;
  /** Of one member. */
  socket: string;
  /** A process of its own, which can be killed. Another one after {@link startFirst}. */
  first: ChildServer;
  /** In this process. */
  second: TestServer;
  /** Starts the first one anew, with the settings and the data that it had. */
  startFirst(): Promise<void>;
  /** Ends both, and the cluster. */
  close(): Promise<void>;
}

/** @param options.poolSize of the first server; the second one has no pool */
export async function startIncusFixture({ poolSize }: { poolSize: number }): Promise<IncusFixture> {
  const undo: (() => PromiseLike<unknown>)[] = [];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const folder = async (name: string) => {
    const made = await mkdtemp(path.join(tmpdir(), name));
    undo.push(() => rm(made, { recursive: true, force: true }));
    return made;
  };
  try {
    const directory = path.join(await folder('svc-incus-'), 'cluster');
    undo.push(() => stopTrialCluster({ directory }));
    const { members } = await startTrialCluster({ directory, members: 3, diskMiB: 20_480 });
    const address = members.map(({ socket }) => socket).join(',');
    const { url, schema } = await childStorage();
    undo.push(() => dropSchema(schema));
    const serverKey = randomBytes(32).toString('hex');
    const second = await startTestServer({
      storage: { kind: 'postgres', url: url!, poolSize: 4 },
      serverKey,
      driver: 'incus',
      incus: { address },
      validateResponses: false,
    });
    undo.push(() => second[Symbol.asyncDispose]());
    const environment = {
      ...childEnvironment(await folder('svc-first-'), 'incus'),
      SVC_POSTGRES_URL: url!,
      SVC_SERVER_KEY: serverKey,
      SVC_INCUS_ADDRESS: address,
      SVC_POOL_SIZE: String(poolSize),
    };
    const fixture: IncusFixture = {
      address,
      socket: members[0]!.socket,
      first: await startChildServer(environment),
      second,
      startFirst: async () => {
        fixture.first = await startChildServer(environment);
      },
      close,
    };
    undo.push(() => fixture.first.kill());
    return fixture;
  } catch (error) {
    await close();
    throw error;
  }
}
