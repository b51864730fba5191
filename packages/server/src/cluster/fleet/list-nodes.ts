import { type Selectable, sql } from 'kysely';
import { errors } from '../../api/errors/catalog.js';
import { toJson } from '../../storage/json.js';
import type { NodesTable } from '../../storage/schema.js';
import type { Uses } from '../context.js';
import { databaseNow, SILENCE_MS } from '../nodes/database-clock.js';
import { measureNode } from './measure-node.js';

/** One node, and how many sandboxes it has by the records. */
export interface NodeRow extends Selectable<NodesTable> {
  /** How long ago its last heartbeat was, ms; undefined: it left. */
  silentMs: number | undefined;
  alive: boolean;
  running: number;
  paused: number;
}

type Ports = Uses<'config' | 'db' | 'driver' | 'nodes' | 'now' | 'sandboxes'>;

/** All nodes by id. A server with a database of its own is the only one. */
export async function listNodes(context: Ports, nodeId?: string): Promise<NodeRow[]> {
  const rows = context.nodes.shared ? await readNodes(context, nodeId) : [await onlyNode(context)];
  const counts = await context.db
    .selectFrom('sandboxes')
    .select((build) => ['node_id', 'view', build.fn.countAll<number>().as('count')])
    .where('view', '!=', 'hidden')
    .$if(nodeId !== undefined, (query) => query.where('node_id', '=', nodeId!))
    .groupBy(['node_id', 'view'])
    .execute();
  const countOf = (id: string, view: 'running' | 'paused') =>
    Number(counts.find((row) => row.node_id === id && row.view === view)?.count ?? 0);
  return rows.map(({ age, ...row }) => ({
    ...row,
    silentMs: row.heartbeat_at === 0 ? undefined : Math.max(0, age),
    alive: age <= SILENCE_MS,
    running: countOf(row.id, 'running'),
    paused: countOf(row.id, 'paused'),
  }));
}

/** @throws {ApiError} 404 */
export async function findNode(context: Ports, nodeId: string): Promise<NodeRow> {
  const node = (await listNodes(context, nodeId)).find((row) => row.id === nodeId);
  if (node === undefined) throw errors.nodeNotFound(nodeId);
  return node;
}

async function readNodes({ db }: Uses<'db'>, nodeId: string | undefined) {
  const rows = await db
    .selectFrom('nodes')
    .selectAll()
    .select(sql<number>`${databaseNow} - heartbeat_at`.as('age'))
    .$if(nodeId !== undefined, (query) => query.where('id', '=', nodeId!))
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ ...row, age: Number(row.age) }));
}

async function onlyNode(context: Ports): Promise<Selectable<NodesTable> & { age: number }> {
  const { config, nodes } = context;
  return {
    id: config.nodeId,
    api_url: config.apiUrl,
    sandbox_url: config.sandboxUrl,
    heartbeat_at: context.now(),
    epoch: nodes.epoch,
    drain: 'no',
    report: toJson(await measureNode(context)),
    age: 0,
  };
}
