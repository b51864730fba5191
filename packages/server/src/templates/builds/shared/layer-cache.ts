import { createHash } from 'node:crypto';
import type { Uses } from '../../context.js';
import type { WireStep } from './build.js';

/** Cache key of a step on top of what came before. */
export function stepKey(previous: string, step: WireStep): string {
  const parts = [previous, step.type.toUpperCase(), step.args ?? [], step.filesHash ?? null];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Layers of earlier builds of one team on this node, by key. */
export class LayerCache {
  readonly #context: Uses<'config' | 'db' | 'now'>;
  readonly #teamId: string;
  readonly #present: Promise<Map<string, number>>;

  constructor(context: Uses<'config' | 'db' | 'driver' | 'now'>, teamId: string) {
    this.#context = context;
    this.#teamId = teamId;
    this.#present = context.driver.layers
      .list()
      .then((layers) => new Map(layers.map((layer) => [layer.id, layer.sizeBytes])));
    this.#present.catch(() => {});
  }

  /** The layer of a key; null when the step changed nothing; undefined when it is not known. */
  async find(key: string): Promise<string | null | undefined> {
    const row = await this.#row(key).select('layer_id').executeTakeFirst();
    if (row === undefined) return undefined;
    // The driver's store may have been replaced.
    if (row.layer_id !== '' && !(await this.#present).has(row.layer_id)) return undefined;
    await this.#context.db
      .updateTable('layers')
      .set({ last_used_at: this.#context.now() })
      .where('node_id', '=', this.#context.config.nodeId)
      .where('team_id', '=', this.#teamId)
      .where('key', '=', key)
      .execute();
    return row.layer_id === '' ? null : row.layer_id;
  }

  /** @param layer null: the step changed nothing. */
  async put(key: string, layer: { id: string; sizeBytes: number } | null): Promise<void> {
    const now = this.#context.now();
    const fields = { layer_id: layer?.id ?? '', size_bytes: layer?.sizeBytes ?? 0, last_used_at: now };
    await this.#context.db
      .insertInto('layers')
      .values({
        key,
        team_id: this.#teamId,
        node_id: this.#context.config.nodeId,
        created_at: now,
        ...fields,
      })
      .onConflict((conflict) => conflict.columns(['node_id', 'team_id', 'key']).doUpdateSet(fields))
      .execute();
  }

  #row(key: string) {
    return this.#context.db
      .selectFrom('layers')
      .where('node_id', '=', this.#context.config.nodeId)
      .where('team_id', '=', this.#teamId)
      .where('key', '=', key);
  }
}
