import { setTimeout as sleep } from 'node:timers/promises';
import { watchEvents } from '../incus/watch-events.js';
import type { IncusCluster } from './incus-cluster.js';
import type { IncusInstance } from './incus-instance.js';
import type { WireInstance } from './wire.js';

/** Between two looks at everything, ms: events report changes at once, but not that a machine stopped answering. */
const LOOK_MS = 5_000;
/** Of instances; undefined where there is none. */
const ENDED = new Set<string | undefined>(['Stopped', undefined]);
const ENDS = new Set(['instance-stopped', 'instance-shutdown', 'instance-deleted']);

export interface IncusWatchOptions {
  cluster: IncusCluster;
  instances(): Iterable<IncusInstance>;
  /** Returns true if something accepts connections at an address of a sandbox. Never rejects. */
  answers(address: string): Promise<boolean>;
  /** Called at every look with everything in the project. */
  onFound(found: readonly WireInstance[]): void;
  log(level: 'debug' | 'warn', message: string, fields: Record<string, unknown>): void;
}

/** Notices instances that ended by themselves, or whose member is away. */
export class IncusWatch {
  readonly #options: IncusWatchOptions;
  readonly #closing = new AbortController();
  readonly #loops: Promise<unknown>[];
  #looking: Promise<void> | undefined;
  /** Those that are being looked at for an event, and whether another one came meanwhile. */
  readonly #asking = new Map<IncusInstance, boolean>();

  constructor(options: IncusWatchOptions) {
    this.#options = options;
    const { signal } = this.#closing;
    this.#loops = [
      watchEvents({
        client: options.cluster.client,
        onEvent: ({ action, instance }) => {
          if (instance !== undefined && ENDS.has(action)) this.#lookAtName(instance);
        },
        onGap: () => void this.lookAtAll(),
        signal,
      }),
      this.#lookAgainAndAgain(signal),
    ];
  }

  /** Looks whether one still runs. Never rejects. */
  async lookAt(instance: IncusInstance): Promise<void> {
    try {
      const found = await this.#options.cluster.find(instance.record.name);
      this.#judge(instance, found?.status);
    } catch {
      // It is not known now; the next look finds out.
    }
  }

  /** The same for all, and for members. Never rejects. Several calls at once look once. */
  lookAtAll(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error: unknown) =>
        this.#options.log('debug', 'Incus could not be looked at', { error: String(error) }),
      )
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#loops, this.#looking]);
  }

  async #look(): Promise<void> {
    const { cluster, instances, onFound } = this.#options;
    const known = [...instances()].filter(({ running }) => running);
    const [found, members] = await Promise.all([cluster.listAll(), cluster.members()]);
    onFound(found);
    const away = new Set(
      members.filter(({ status }) => status === 'Offline').map(({ server_name: name }) => name),
    );
    const statuses = new Map(found.map(({ name, status }) => [name, status]));
    const onThem = known.filter(({ record }) => away.has(record.location));
    await Promise.all(onThem.map((instance) => this.#judgeAway(instance)));
    for (const instance of known) {
      // The list may be older than what happened since; one that is not as it should be is looked at by itself.
      if (!onThem.includes(instance) && ENDED.has(statuses.get(instance.record.name)))
        await this.lookAt(instance);
    }
  }

  /** A member that is only busy counts as away too: what still takes connections has not ended. */
  async #judgeAway(instance: IncusInstance): Promise<void> {
    const { answers, log } = this.#options;
    const { id, address, location } = instance.record;
    if ((await answers(address)) || !instance.running) return;
    log('warn', 'a sandbox is lost with its machine', { id, member: location });
    instance.finish('exited');
  }

  #judge(instance: IncusInstance, status: string | undefined): void {
    if (instance.running && ENDED.has(status)) instance.finish('exited');
  }

  #lookAtName(name: string): void {
    for (const instance of this.#options.instances()) {
      if (instance.record.name === name && instance.running) void this.#lookAfterEvent(instance);
    }
  }

  /** However many events come, one is asked for at a time, and once more for all that came meanwhile. */
  async #lookAfterEvent(instance: IncusInstance): Promise<void> {
    const known = this.#asking.has(instance);
    this.#asking.set(instance, known);
    if (known) return;
    do {
      this.#asking.set(instance, false);
      await this.lookAt(instance);
    } while (this.#asking.get(instance) === true && instance.running && !this.#closing.signal.aborted);
    this.#asking.delete(instance);
  }

  async #lookAgainAndAgain(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await this.lookAtAll();
    }
  }
}
