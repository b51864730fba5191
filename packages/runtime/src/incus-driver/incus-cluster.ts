import type { Readable } from 'node:stream';
import type { IncusClient } from '../incus/incus-client.js';
import { IncusError } from '../incus/incus-error.js';
import { isOf } from './keys.js';
import {
  readInstance,
  readInstanceNames,
  readInstanceState,
  readInstances,
  readMembers,
  readPoolBytes,
  readResources,
} from './read-wire.js';
import type { WireInstance, WireInstanceState, WireMember, WireResources } from './wire.js';

/** A frozen container cannot be stopped on cgroup v1, and killing one takes a moment. */
const STOP_SECONDS = 30;
const LIST_TRIES = 5;
const LATELY_MS = 1_000;

/** The calls about instances that the driver makes of Incus, each a few lines. */
export class IncusCluster {
  readonly client: IncusClient;
  readonly #resources = new Map<string, Promise<WireResources>>();
  #lately: Promise<WireInstance[]> | undefined;
  #listedAtMs = 0;

  constructor(client: IncusClient) {
    this.client = client;
  }

  /** As {@link listAll}, or what that gave a moment ago: for a caller that looks for many, one after another. */
  listLately(): Promise<WireInstance[]> {
    if (this.#lately === undefined || performance.now() - this.#listedAtMs > LATELY_MS) {
      this.#listedAtMs = performance.now();
      const listing = this.listAll();
      this.#lately = listing;
      listing.catch(() => {
        if (this.#lately === listing) this.#lately = undefined;
      });
    }
    return this.#lately;
  }

  /** Everything of one owner. @throws {IncusError} while Incus cannot list all */
  async listOf(owner: string): Promise<WireInstance[]> {
    return (await this.listAll()).filter((instance) => isOf(owner, instance));
  }

  /**
   * Everything in the project. A member that is falling away makes Incus leave some out now and then: what the database
   * knows must all be there.
   */
  async listAll(): Promise<WireInstance[]> {
    for (let tries = 0; tries < LIST_TRIES; tries += 1) {
      const known = readInstanceNames(await this.client.call({ path: '/instances' }));
      const all = readInstances(await this.client.call({ path: '/instances', query: { recursion: '1' } }));
      const listed = new Set(all.map(({ name }) => name));
      if (known.every((name) => listed.has(name))) return all;
    }
    throw new IncusError(0, 'Incus does not list all its instances: a member is falling away.');
  }

  async find(name: string): Promise<WireInstance | undefined> {
    const answer = await this.client.find({ path: path(name) });
    if (answer === undefined) return undefined;
    const found = readInstance(answer);
    if (found.name !== name)
      throw new IncusError(0, 'Incus answered with another instance than it was asked for.');
    return found;
  }

  async state(name: string): Promise<WireInstanceState> {
    return readInstanceState(await this.client.call({ path: `${path(name)}/state` }));
  }

  /** @param start whether it runs afterwards. Incus chooses the member, unless it is named. */
  async create(
    body: Record<string, unknown>,
    options: { start: boolean; target?: string; signal?: AbortSignal | undefined },
  ): Promise<void> {
    const { start, target, signal } = options;
    await this.client.call({
      method: 'POST',
      path: '/instances',
      query: target === undefined || target === 'none' ? {} : { target },
      body: { type: 'container', profiles: [], ...body, start },
      signal,
    });
  }

  async changeState(name: string, action: 'freeze' | 'unfreeze' | 'start' | 'stop'): Promise<void> {
    const body = { action, force: action === 'stop', timeout: STOP_SECONDS };
    await this.client.call({ method: 'PUT', path: `${path(name)}/state`, body });
  }

  async patch(name: string, body: Record<string, unknown>): Promise<void> {
    await this.client.call({ method: 'PATCH', path: path(name), body });
  }

  /** Runs a program inside to its end, as root. @throws {IncusError} also where it ends with another code than 0 */
  async execute(name: string, command: readonly string[]): Promise<void> {
    const code = await this.executeForCode(name, command);
    if (code !== 0) throw new IncusError(500, `${command[0]} ended with ${code} inside.`);
  }

  /** Runs a program inside to its end, as root. @returns its exit code; -1 where Incus gives none */
  async executeForCode(name: string, command: readonly string[]): Promise<number> {
    const done = await this.client.call<{ return?: number } | null>({
      method: 'POST',
      path: `${path(name)}/exec`,
      body: { command, 'wait-for-websocket': false, interactive: false, 'record-output': false },
    });
    const code = done?.return;
    return typeof code === 'number' && Number.isInteger(code) ? code : -1;
  }

  /** Writes a file inside, of root's, that everybody reads. */
  async writeFile(name: string, file: string, content: Readable): Promise<void> {
    await this.client.call({
      method: 'POST',
      path: `${path(name)}/files`,
      query: { path: file },
      content: {
        stream: content,
        headers: {
          'content-type': 'application/octet-stream',
          'x-incus-type': 'file',
          'x-incus-write': 'overwrite',
          'x-incus-uid': '0',
          'x-incus-gid': '0',
          'x-incus-mode': '0644',
        },
      },
    });
  }

  async snapshot(name: string, snapshot: string): Promise<void> {
    await this.client.call({
      method: 'POST',
      path: `${path(name)}/snapshots`,
      body: { name: snapshot, stateful: false },
    });
  }

  async deleteSnapshot(name: string, snapshot: string): Promise<void> {
    await this.client.find({ method: 'DELETE', path: `${path(name)}/snapshots/${snapshot}` });
  }

  /**
   * Ends and removes an instance, in any state. Repeating it is fine.
   * @param config what it must have in its configuration: one that has not belongs to somebody else, and is left alone.
   */
  async remove(name: string, config: Record<string, string | undefined> = {}): Promise<void> {
    const found = await this.find(name);
    if (found === undefined) return;
    if (found.status === 'Error') throw new IncusError(0, `The member ${found.location} is away.`);
    if (Object.entries(config).some(([key, value]) => found.config[key] !== value)) return;
    try {
      if (found.status === 'Frozen') await this.changeState(name, 'unfreeze');
      if (found.status !== 'Stopped') await this.changeState(name, 'stop');
    } catch (error) {
      // It may have ended meanwhile, or be deleted; the deletion shows it.
      if (IncusError.is(error, 0)) throw error;
    }
    await this.client.find({ method: 'DELETE', path: path(name) });
  }

  /** Undefined where there is no cluster. */
  async members(): Promise<WireMember[]> {
    try {
      return readMembers(await this.client.call({ path: '/cluster/members', query: { recursion: '1' } }));
    } catch (error) {
      // A server of its own.
      if (IncusError.is(error) && error.status !== 0) return [];
      throw error;
    }
  }

  /** Bytes that a member's part of a storage pool has. */
  async poolBytes(pool: string, location: string): Promise<number> {
    const query = location === 'none' ? {} : { target: location };
    return readPoolBytes(
      await this.client.call({ path: `/storage-pools/${encodeURIComponent(pool)}/resources`, query }),
    );
  }

  /** The resources of a member. Asked once. */
  resources(location: string): Promise<WireResources> {
    let asked = this.#resources.get(location);
    if (asked === undefined) {
      const query = location === 'none' ? {} : { target: location };
      asked = this.client.call({ path: '/resources', query }).then(readResources);
      asked.catch(() => this.#resources.delete(location));
      this.#resources.set(location, asked);
    }
    return asked;
  }
}

function path(name: string): string {
  return `/instances/${encodeURIComponent(name)}`;
}
