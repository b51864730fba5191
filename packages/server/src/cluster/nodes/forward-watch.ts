import type { NodeRegistry } from './registry.js';

/** Interval of checks of the nodes with open requests, ms. */
const LOOK_MS = 5_000;
/** Checks in a row that must find a node silent: after an outage of the database all are, for a moment. */
const SILENT_LOOKS = 2;

/** Breaks off what was passed on to nodes that fell silent meanwhile: a frozen machine closes no connection. */
export class ForwardWatch {
  readonly #nodes: Pick<NodeRegistry, 'findAlive'>;
  readonly #open = new Map<string, { breakOffs: Set<() => void>; silentLooks: number }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(nodes: Pick<NodeRegistry, 'findAlive'>) {
    this.#nodes = nodes;
  }

  /** @returns what says that the node has answered, or the request has ended otherwise. */
  add(nodeId: string, breakOff: () => void): () => void {
    const entry = this.#open.get(nodeId) ?? { breakOffs: new Set(), silentLooks: 0 };
    this.#open.set(nodeId, entry);
    entry.breakOffs.add(breakOff);
    this.#timer ??= setInterval(() => void this.look(), LOOK_MS).unref();
    return () => {
      entry.breakOffs.delete(breakOff);
      if (entry.breakOffs.size === 0 && this.#open.get(nodeId) === entry) this.#open.delete(nodeId);
      if (this.#open.size === 0) this.close();
    };
  }

  /** Looks once. Never rejects: while the database does not answer, nobody knows who lives. */
  async look(): Promise<void> {
    for (const [nodeId, entry] of [...this.#open]) {
      try {
        const alive = await this.#nodes.findAlive(nodeId);
        entry.silentLooks = alive === undefined ? entry.silentLooks + 1 : 0;
      } catch {
        return;
      }
      if (entry.silentLooks >= SILENT_LOOKS) for (const breakOff of [...entry.breakOffs]) breakOff();
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
