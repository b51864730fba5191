import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { DriverError, driverClosed } from '../../contract/errors.js';
import type { VolumeContent } from '../../contract/volumes.js';
import { type ExecStream, execute } from '../../incus/execute.js';
import type { RemoteCalls } from '../../remote/remote-calls.js';
import { remoteContent } from '../../remote/remote-volumes.js';
import { randomId } from '../../shared/instance-id.js';
import type { RetryLater } from '../../shared/retry-later.js';
import { TOOL_PATH } from '../../shared/script-environment.js';
import { translated } from '../driver-error.js';
import type { Images } from '../image/images.js';
import type { IncusCluster } from '../incus-cluster.js';
import { keys } from '../keys.js';
import { callsOfAgent } from './agent-calls.js';
import { AGENT_COMMAND, AGENT_PROGRAM, agentBody } from './agent-spec.js';
import { exactly } from './exactly.js';

/** Agents at once: each takes memory of its machine. */
const MOST_AGENTS = 16;

export interface VolumeAgentsOptions {
  cluster: IncusCluster;
  images: Pick<Images, 'require'>;
  owner: string;
  pool: string;
  cleanUp: RetryLater;
  /** Names of instances that somebody knows: the reaper keeps off. */
  making: Set<string>;
}

interface Running {
  calls: RemoteCalls;
  stream: ExecStream;
  /** Settles when its container is deleted, or its removal is scheduled again. */
  removed: Promise<unknown>;
}

interface Agent {
  running: Promise<Running>;
  /** Calls that are not over. */
  busy: number;
}

/**
 * Works on files of volumes in containers, one for each volume that is in use: they have the volume, no network card, and are reached
 * by what Incus runs inside of them. Each is made by the first call and removed when it is idle.
 */
export class VolumeAgents {
  readonly #options: VolumeAgentsOptions;
  readonly #agents = new Map<string, Agent>();
  readonly #removals = new Set<Promise<unknown>>();
  #closed = false;

  constructor(options: VolumeAgentsOptions) {
    this.#options = options;
  }

  /** @param locate gives the member that has the volume; undefined where there is no cluster */
  content(id: string, locate: () => Promise<string | undefined>): VolumeContent {
    const use = <T>(task: (content: VolumeContent) => Promise<T>) => this.#use(id, locate, task);
    return {
      stat: (path) => use((content) => content.stat(path)),
      list: (path, depth) => use((content) => content.list(path, depth)),
      change: (path, change) => use((content) => content.change(path, change)),
      makeDirectory: (path, options) => use((content) => content.makeDirectory(path, options)),
      remove: (path) => use((content) => content.remove(path)),
      write: (path, body, options) => use((content) => content.write(path, body, options)),
      read: (path) => this.#read(id, locate, path),
    };
  }

  /** Ends the agent of a volume, regardless of its work. A later call makes another one. */
  async end(id: string): Promise<void> {
    const agent = this.#agents.get(id);
    if (agent === undefined) return;
    this.#agents.delete(id);
    const running = await agent.running.catch(() => undefined);
    if (running === undefined) return;
    running.calls.end();
    running.stream.destroy();
    await running.removed;
  }

  /** Ends all of them for good. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#agents.keys()].map((id) => this.end(id)));
    await Promise.all(this.#removals);
  }

  async #use<T>(
    id: string,
    locate: () => Promise<string | undefined>,
    task: (content: VolumeContent) => Promise<T>,
  ): Promise<T> {
    const agent = await this.#agentOf(id, locate);
    agent.busy += 1;
    try {
      return await task(remoteContent((await agent.running).calls, id));
    } catch (error) {
      this.#giveUp(agent, error);
      throw error;
    } finally {
      agent.busy -= 1;
    }
  }

  async #read(id: string, locate: () => Promise<string | undefined>, path: string) {
    const agent = await this.#agentOf(id, locate);
    agent.busy += 1;
    const over = () => {
      agent.busy -= 1;
    };
    try {
      const { sizeBytes, content } = await remoteContent((await agent.running).calls, id).read(path);
      return { sizeBytes, content: exactly(content, sizeBytes).once('close', over) };
    } catch (error) {
      over();
      this.#giveUp(agent, error);
      throw error;
    }
  }

  /** An agent that does not answer is made anew by the next call. */
  #giveUp({ running }: Agent, error: unknown): void {
    if (!DriverError.is(error) || error.code !== 'unreachable') return;
    running.then(
      ({ stream }) => stream.destroy(),
      () => undefined,
    );
  }

  async #agentOf(id: string, locate: () => Promise<string | undefined>): Promise<Agent> {
    const before = this.#agents.get(id);
    const running = await before?.running.catch(() => undefined);
    if (this.#closed) throw driverClosed();
    if (before !== undefined && running?.stream.writable === true) return before;
    // Of several calls that found none the first makes it.
    const now = this.#agents.get(id);
    if (now !== undefined && now !== before) return now;
    this.#makeRoom();
    const agent: Agent = { running: this.#start(id, locate), busy: 0 };
    this.#agents.set(id, agent);
    const forget = () => {
      if (this.#agents.get(id) === agent) this.#agents.delete(id);
    };
    agent.running.then(({ stream }) => stream.once('close', forget), forget);
    return agent;
  }

  /** @throws {DriverError} `no_capacity` */
  #makeRoom(): void {
    if (this.#agents.size < MOST_AGENTS) return;
    const idle = [...this.#agents].find(([, { busy }]) => busy === 0);
    if (idle === undefined)
      throw new DriverError('no_capacity', 'Files of too many volumes are worked on at once.', {
        detail: `${MOST_AGENTS} of this server`,
      });
    void this.end(idle[0]);
  }

  async #start(id: string, locate: () => Promise<string | undefined>): Promise<Running> {
    const { cluster, images, owner, pool, making } = this.#options;
    const target = await locate();
    const name = `v${randomId()}`;
    const unique = randomId();
    making.add(name);
    try {
      return await translated(
        async () => {
          const { fingerprint } = await images.require([]);
          const body = agentBody({ name, volumeId: id, pool, owner, unique, fingerprint });
          await cluster.create(body, { start: true, ...(target === undefined ? {} : { target }) });
          await cluster.writeFile(name, AGENT_PROGRAM, Readable.from([await programText()]));
          const stream = await execute({
            client: cluster.client,
            instance: name,
            command: AGENT_COMMAND,
            environment: { PATH: TOOL_PATH, LANG: 'C' },
          });
          stream.on('error', () => undefined);
          const removed = new Promise((resolve) => {
            stream.once('close', () => resolve(this.#removeLater(name, unique)));
          });
          return { stream, calls: callsOfAgent(stream), removed };
        },
        { code: 'unreachable', message: 'The files of the volume cannot be reached.' },
      );
    } catch (error) {
      void this.#removeLater(name, unique);
      throw error;
    }
  }

  #removeLater(name: string, unique: string): Promise<unknown> {
    const { cluster, owner, cleanUp, making } = this.#options;
    const removal = cleanUp
      .attempt(`volume agent ${name}`, () =>
        cluster.remove(name, { [keys.owner]: owner, [keys.unique]: unique }),
      )
      .finally(() => {
        making.delete(name);
        this.#removals.delete(removal);
      });
    this.#removals.add(removal);
    return removal;
  }
}

/** One file that needs nothing beside it: the build makes it. */
async function programText(): Promise<Buffer> {
  const found = ['./agent-bundle.mjs', '../../../dist/incus-driver/volumes/agent-bundle.mjs']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error('the program of the volume agent is missing beside the driver');
  return readFile(found);
}
