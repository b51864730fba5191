import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Driver, Instance, InstanceEnd, InstanceRecord } from '@svc/runtime/contract';

export interface StubDriver extends Driver, AsyncDisposable {}

const STATS = {
  ...{ cpuUsageUs: 0, cpuCount: 2, memoryBytes: 1, memoryLimitBytes: 2, memoryCacheBytes: 0 },
  ...{ diskUsedBytes: 0, diskLimitBytes: 0, pids: 1 },
};

/**
 * A driver whose instances are names, all with one daemon that says yes to everything: for the server around them. Their
 * snapshots are names too.
 */
export async function createStubDriver(): Promise<StubDriver> {
  const directory = await mkdtemp(path.join(tmpdir(), 'svc-stub-'));
  const socket = path.join(directory, 'daemon');
  const daemon = http.createServer((req, res) => {
    req.resume();
    if (req.url?.startsWith('/logs') === true)
      return res.writeHead(200, { 'Content-Type': 'application/json' }).end('{"entries":[],"dropped":0}');
    return res.writeHead(204).end();
  });
  daemon.listen(socket);
  await once(daemon, 'listening');

  const instances = new Map<string, { instance: Instance; record: InstanceRecord }>();
  const make = (id: string, labels: Record<string, string>): Instance => {
    let end: (how: InstanceEnd) => void = () => {};
    const ended = new Promise<InstanceEnd>((resolve) => {
      end = resolve;
    });
    const instance: Instance = {
      id,
      labels,
      ended,
      setNetwork: async () => {},
      dial: async () => {
        const stream = connect(socket);
        await once(stream, 'connect');
        return stream;
      },
      freeze: async () => {},
      thaw: async () => {},
      stats: async () => STATS,
      checkpoint: async ({ checkpointId, memory, then }) => {
        if (then === 'destroy') await instance.destroy();
        return { id: checkpointId, memory, sizeBytes: 0, frozenMs: 0 };
      },
      commitLayer: () => Promise.reject(new Error('a name has no files')),
      destroy: async () => {
        instances.delete(id);
        end({ reason: 'destroyed' });
      },
    };
    instances.set(id, { instance, record: { id, state: 'running', labels, createdAtMs: Date.now() } });
    return instance;
  };
  return {
    name: 'stub',
    summary: 'names',
    capabilities: {
      ...{ isolation: 'none', limits: false, diskLimit: false, memorySnapshot: true, mounts: false },
      ...{ networkIsolation: false, egressPolicy: false, layers: 'home', users: false, reasons: [] },
    },
    create: async ({ id, spec }) => make(id, spec.labels),
    restore: async ({ id, spec }) => make(id, spec.labels),
    list: async () => [...instances.values()].map(({ record }) => record),
    adopt: async (id) => instances.get(id)?.instance,
    reap: async () => [],
    listCheckpoints: async () => [],
    deleteCheckpoint: async () => {},
    layers: {
      importTar: () => Promise.reject(new Error('names have no files')),
      list: async () => [],
      delete: async () => {},
    },
    volumes: {
      make: async () => {},
      delete: async () => {},
      list: async () => [],
      usedBytes: async () => 0,
      content: () => {
        throw new Error('names have no volumes');
      },
    },
    setPool: () => {},
    poolReady: async () => {},
    poolState: async () => ({ waiting: 0, wanted: 0, memoryBytes: 0, hits: 0, misses: 0 }),
    close: async () => {},
    [Symbol.asyncDispose]: async () => {
      daemon.closeAllConnections();
      daemon.close();
      await once(daemon, 'close');
      await rm(directory, { recursive: true });
    },
  };
}
