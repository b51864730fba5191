import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  type Driver,
  DriverError,
  type Instance,
  type Machine,
  type StoredObject,
} from '@svc/runtime/contract';
import { createStubDriver } from './stub-driver.js';

/** The port on which programs of fake sandboxes report what they remember. */
export const PLAYED_PORT = 8080;

export interface MovingDriver extends Driver, AsyncDisposable {
  /** The memory of the programs of each living instance. */
  readonly remembers: Map<string, string>;
  /** The stored objects, by kind and id, such as `checkpoint/pause-1`, with their content. */
  readonly stored: Map<string, string>;
  /** The machine that stored memory needs; other drivers have the same unless a test changes it. */
  machine: Machine;
  /** Runs before an object of another driver is taken over; what it throws is the failure. */
  beforeImport: (object: StoredObject) => Promise<void>;
  /** Runs before a restore; what it throws is the failure. */
  beforeRestore: (checkpointId: string) => Promise<void>;
}

/**
 * A driver whose instances are names with something to remember, which is stored, taken over by other drivers of this kind and restored:
 * for what servers do around that.
 */
export async function createMovingDriver(options: { memorySnapshot?: boolean } = {}): Promise<MovingDriver> {
  const stub = await createStubDriver();
  const behind = { ...stub };
  const directory = await mkdtemp(path.join(tmpdir(), 'svc-moving-'));
  const remembers = new Map<string, string>();
  const stored = new Map<string, string>();
  const programs = new Map<string, http.Server>();
  const idOf = ({ kind, id }: StoredObject) => `${kind}/${id}`;

  /** A program of an instance: tells what it remembers, also over an upgraded connection. */
  const socketOf = async (id: string) => {
    const socket = path.join(directory, id);
    if (programs.has(id)) return socket;
    const program = http.createServer((_req, res) => res.end(remembers.get(id) ?? 'nothing'));
    program.on('upgrade', (_req, stream) => {
      stream.on('error', () => {});
      stream.end(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: played\r\nConnection: Upgrade\r\n\r\n${remembers.get(id) ?? 'nothing'}`,
      );
    });
    programs.set(id, program);
    program.listen(socket);
    await once(program, 'listening');
    return socket;
  };
  const withMemory = (instance: Instance): Instance => {
    const { dial, destroy } = instance;
    return Object.assign(instance, {
      dial: async (port: number, how?: { signal?: AbortSignal }) => {
        if (port !== PLAYED_PORT) return dial(port, how);
        const stream = connect(await socketOf(instance.id));
        await once(stream, 'connect');
        return stream;
      },
      checkpoint: async ({ checkpointId, memory, then }: Parameters<Instance['checkpoint']>[0]) => {
        const content = memory ? (remembers.get(instance.id) ?? '') : '';
        stored.set(`checkpoint/${checkpointId}`, content);
        if (then === 'destroy') await instance.destroy();
        return { id: checkpointId, memory, sizeBytes: content.length, frozenMs: 0 };
      },
      destroy: async () => {
        remembers.delete(instance.id);
        await destroy();
      },
    });
  };
  const own = {
    capabilities: { ...behind.capabilities, memorySnapshot: options.memorySnapshot ?? true },
    remembers,
    stored,
    machine: { arch: 'x64', kernel: '6.1.0', cpuFeatures: ['sse2'] } as Machine,
    beforeImport: async () => {},
    beforeRestore: async () => {},
    create: async (asked) => withMemory(await behind.create(asked)),
    restore: async (asked) => {
      await driver.beforeRestore(asked.checkpointId);
      const content = stored.get(`checkpoint/${asked.checkpointId}`);
      if (content === undefined) throw new DriverError('not_found', 'There is no such checkpoint.');
      const instance = withMemory(await behind.restore(asked));
      if (asked.memory) remembers.set(asked.id, content);
      return instance;
    },
    listCheckpoints: async () =>
      [...stored].flatMap(([key, content]) =>
        key.startsWith('checkpoint/')
          ? [{ id: key.slice('checkpoint/'.length), memory: true, sizeBytes: content.length }]
          : [],
      ),
    deleteCheckpoint: async (id) => void stored.delete(`checkpoint/${id}`),
    layers: {
      ...behind.layers,
      list: async () =>
        [...stored].flatMap(([key, content]) =>
          key.startsWith('layer/') ? [{ id: key.slice('layer/'.length), sizeBytes: content.length }] : [],
        ),
      delete: async (id) => void stored.delete(`layer/${id}`),
    },
    transfers: {
      get machine() {
        return driver.machine;
      },
      has: async (object) => stored.has(idOf(object)),
      describe: async (object) => ({
        ...object,
        sizeBytes: contentOf(object).length,
        needs: [],
        memory: object.kind === 'checkpoint',
        machine: driver.machine,
      }),
      export: async (object, { offset = 0 } = {}) =>
        Readable.from([Buffer.from(`${contentOf(object)}.`).subarray(offset)], { objectMode: false }),
      import: async (object, archive) => {
        await driver.beforeImport(object);
        const content = await text(archive);
        if (!content.endsWith('.')) throw new DriverError('invalid_archive', 'It was cut short.');
        stored.set(idOf(object), content.slice(0, -1));
      },
    },
    [Symbol.asyncDispose]: async () => {
      for (const program of programs.values()) {
        program.closeAllConnections();
        program.close();
      }
      await rm(directory, { recursive: true, force: true });
      await behind[Symbol.asyncDispose]();
    },
  } satisfies Partial<MovingDriver>;
  const contentOf = (object: StoredObject) => {
    const content = stored.get(idOf(object));
    if (content === undefined) throw new DriverError('not_found', 'There is no such object.');
    return content;
  };
  const driver: MovingDriver = Object.assign(stub, own);
  return driver;
}
