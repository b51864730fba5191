import { setMaxListeners } from 'node:events';
import type { Route } from './contract.js';
import { type Connect, PortAgent } from './port-agent.js';

interface Pool {
  instanceKey: string;
  agents: Map<number, PortAgent>;
  closed: AbortController;
}

/** Connections into sandboxes, by sandbox and port. They never outlive the instance they were made to. */
export class Pools {
  readonly #pools = new Map<string, Pool>();

  /** The agent for a port. `connect` is used for connections from now on; its signal fires when the pool is closed. */
  agent(options: {
    route: Route;
    port: number;
    idleMs: number;
    connect: (signal: AbortSignal) => ReturnType<Connect>;
  }): PortAgent {
    const { route, port, idleMs } = options;
    const pool = this.#pool(route);
    const connect = () => options.connect(pool.closed.signal);
    const found = pool.agents.get(port);
    if (found) {
      found.connect = connect;
      return found;
    }
    const onEmpty = () => {
      if (agent !== pool.agents.get(port)) return;
      pool.agents.delete(port);
      if (pool.agents.size === 0 && this.#pools.get(route.sandboxId) === pool)
        this.#pools.delete(route.sandboxId);
    };
    const agent = new PortAgent({ connect, idleMs, onEmpty });
    pool.agents.set(port, agent);
    return agent;
  }

  /**
   * Destroys every connection to a sandbox, to all without an id, the ones in use too.
   * @param options.keepIdle unused ones stay, until their instance is another or their time is over.
   */
  close(sandboxId?: string, options: { keepIdle?: boolean } = {}): void {
    for (const [id, pool] of [...this.#pools]) {
      if (sandboxId !== undefined && id !== sandboxId) continue;
      pool.closed.abort(new Error('the sandbox is being closed'));
      if (options.keepIdle) pool.closed = openSignal();
      else this.#pools.delete(id);
      for (const agent of pool.agents.values()) agent.destroyAll(options);
    }
  }

  get idle(): number {
    let idle = 0;
    for (const pool of this.#pools.values()) for (const agent of pool.agents.values()) idle += agent.idle;
    return idle;
  }

  #pool(route: Route): Pool {
    const found = this.#pools.get(route.sandboxId);
    if (found?.instanceKey === route.instanceKey) return found;
    if (found) for (const agent of found.agents.values()) agent.destroyIdle();
    const pool = { instanceKey: route.instanceKey, agents: new Map(), closed: openSignal() };
    this.#pools.set(route.sandboxId, pool);
    return pool;
  }
}

/** Every connection that is being made listens to it: as many as the sandbox may have. */
function openSignal(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
