import { eventually } from '#support/eventually';
import type { NodeRecord } from '../../src/api/context/nodes.js';
import type { ServerOptions } from '../../src/index.js';
import type { SandboxRow } from '../../src/sandboxes/state/live.js';
import type { NodeMoving } from '../../src/storage/json-shapes.js';
import { createMovingDriver, type MovingDriver } from './moving-driver.js';
import { operate } from './operate.js';
import type { TestServer } from './server.js';
import { type SharedServers, startSharedServers } from './shared-servers.js';

export interface MovingServers extends AsyncDisposable {
  servers: TestServer[];
  drivers: MovingDriver[];
  shared: SharedServers;
  ask: SharedServers['ask'];
  idOf(server: TestServer): string;
  driverOf(server: TestServer): MovingDriver;
  /** Makes a sandbox on one of them, whose programs remember something. */
  create(server: TestServer, remembers: string, body?: object): Promise<{ id: string; token: string }>;
  rowOf(sandboxId: string): Promise<SandboxRow>;
  /** Drains one, or takes it into use again, and waits until all of them know. */
  drain(server: TestServer, how: 'keep' | 'move' | 'no'): Promise<void>;
  /** The report of one that empties itself. */
  moving(server: TestServer): Promise<NodeMoving | undefined>;
}

/** Servers with drivers whose stores are apart, on one PostgreSQL. Which of them live does not depend on how busy the machine is. */
export async function startMovingServers(
  count: number,
  options: { server?: Partial<ServerOptions>; memorySnapshot?: boolean } = {},
): Promise<MovingServers> {
  const drivers: MovingDriver[] = [];
  for (let index = 0; index < count; index += 1)
    drivers.push(
      await createMovingDriver(
        options.memorySnapshot === undefined ? {} : { memorySnapshot: options.memorySnapshot },
      ),
    );
  const shared = await startSharedServers(count, (index) => ({ ...options.server, driver: drivers[index]! }));
  const { servers } = shared;
  // Tests restart the first one.
  const { db } = servers.at(-1)!.server.context;
  const idOf = ({ server }: TestServer) => server.context.config.nodeId;
  await stayAlive(servers);
  const all: MovingServers = {
    servers,
    drivers,
    shared,
    ask: shared.ask,
    idOf,
    driverOf: (server) => drivers[servers.indexOf(server)]!,
    async create(server, remembers, body = {}) {
      const { fleet } = server.server.context;
      const { places } = fleet;
      const made = await shared.createOn(server, body);
      // From here on it looks at the others again.
      fleet.places = places;
      all.driverOf(server).remembers.set(made.id, remembers);
      return made;
    },
    rowOf: (id) => db.selectFrom('sandboxes').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    async drain(server, how) {
      const path = `/nodes/${idOf(server)}/${how === 'no' ? 'undrain' : 'drain'}`;
      const done = await operate(
        servers.find((each) => each !== server)!.server,
        'POST',
        path,
        how === 'no' ? undefined : { sandboxes: how },
      );
      if (done.status !== 200) throw new Error(`drain answered ${done.status}`);
      await eventually('it follows', () => server.server.context.nodes.drain === how);
      for (const { server: each } of servers)
        await eventually('all know', async () =>
          (await each.context.fleet.places()).some(
            ({ place }) => place.nodeId === idOf(server) && place.drained === (how !== 'no'),
          ),
        );
    },
    async moving(server) {
      const nodes = (await operate(servers.at(-1)!.server, 'GET', '/nodes')).body as {
        nodeID: string;
        moving: NodeMoving | null;
      }[];
      return nodes.find(({ nodeID }) => nodeID === idOf(server))?.moving ?? undefined;
    },
    [Symbol.asyncDispose]: async () => {
      await shared[Symbol.asyncDispose]();
      for (const driver of drivers) await driver[Symbol.asyncDispose]();
    },
  };
  for (const { server } of servers)
    await eventually('all have reported their machines', async () =>
      (await server.context.fleet.places()).every(({ place }) => place.report?.machine !== undefined),
    );
  return all;
}

const patient = (record: NodeRecord): NodeRecord => ({ ...record, acknowledges: false });

/** Keeps servers alive for the others, however late their heartbeats come, and has them wait for each other's answers. */
export async function stayAlive(servers: readonly TestServer[]): Promise<void> {
  for (const { server } of servers) {
    const { db, fleet, nodes } = server.context;
    const { announce, findAlive } = nodes;
    const { places } = fleet;
    // One that need not say at once that it has got a request may take its time.
    fleet.places = async () =>
      (await places.call(fleet)).map(({ place, record }) => ({ place, record: patient(record) }));
    nodes.findAlive = async (id) => {
      const found = await findAlive.call(nodes, id);
      return found === undefined ? undefined : patient(found);
    };
    nodes.announce = async (...told) => {
      await announce.apply(nodes, told);
      await db
        .updateTable('nodes')
        .set({ heartbeat_at: Number.MAX_SAFE_INTEGER })
        .where('id', '=', nodes.nodeId)
        .execute();
      return { wasSilent: false };
    };
    await nodes.announce(server.apiUrl, server.sandboxUrl);
  }
}
