import type {
  KyselyPlugin,
  OperationNode,
  PluginTransformQueryArgs,
  PluginTransformResultArgs,
  QueryResult,
  RootOperationNode,
  UnknownRow,
} from 'kysely';
import type { Schema } from './schema.js';

/** Columns that only count: nobody decides by them. */
const COUNTERS = new Set(['spawn_count', 'last_spawned_at']);

/** Observes every write of this process and notifies the subscribers of its table, before the statement runs. */
export class WriteWatch implements KyselyPlugin {
  readonly #listeners = new Map<string, Set<() => void>>();

  onWrite(table: keyof Schema, listener: () => void): void {
    const known = this.#listeners.get(table);
    if (known === undefined) this.#listeners.set(table, new Set([listener]));
    else known.add(listener);
  }

  transformQuery({ node }: PluginTransformQueryArgs): RootOperationNode {
    const table = writtenTable(node);
    if (table !== undefined) for (const listener of this.#listeners.get(table) ?? []) listener();
    return node;
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return result;
  }
}

function writtenTable(node: RootOperationNode): string | undefined {
  switch (node.kind) {
    case 'InsertQueryNode':
      return nameOf(node.into);
    case 'UpdateQueryNode': {
      const columns = node.updates?.map((update) => columnOf(update.column)) ?? [];
      return columns.every((column) => COUNTERS.has(column)) ? undefined : nameOf(node.table);
    }
    case 'DeleteQueryNode':
      return nameOf(node.from.froms[0]);
    default:
      return undefined;
  }
}

function nameOf(node: OperationNode | undefined): string | undefined {
  return (node as { table?: { identifier?: { name?: string } } } | undefined)?.table?.identifier?.name;
}

function columnOf(node: OperationNode): string {
  return (node as { column?: { name?: string } }).column?.name ?? '';
}
