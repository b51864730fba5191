import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { decryptJson, encryptJson } from '../storage/keys/encrypted-setting.js';
import type { Team } from './auth/team-store.js';
import type { Uses } from './context/context.js';
import { ApiError } from './errors/api-error.js';
import { errors } from './errors/catalog.js';
import type { AnyResult } from './operations.js';

/** JSON with the members of every object in one order: equal requests read the same however they were written. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

type Ports = Uses<'db' | 'keys' | 'log' | 'nodes' | 'now' | 'processId' | 'retries'>;

interface Repeatable {
  context: Ports;
  team: Pick<Team, 'id'> | undefined;
  headers: IncomingHttpHeaders;
  body: unknown;
}

/** Distinguishes a repeated answer from a first one. */
const REPLAYED = { 'Idempotency-Replayed': 'true' };

type StoredFailure = { failed: { status: number; message: string; errorCode?: string } };

/**
 * Runs a request at most once per `Idempotency-Key` and team, and repeats its answer, failures included, to later ones.
 * @throws {ApiError} 400 bad key; 409 another request, or still running; 422 nobody knows how the first one ended.
 */
export async function idempotent(request: Repeatable, run: () => Promise<AnyResult>): Promise<AnyResult> {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return run();
  if (typeof key !== 'string' || !/^[a-z0-9]{1,255}$/.test(key)) throw errors.idempotencyKeyInvalid();
  const { context, team } = request;
  if (team === undefined) return run();
  const hash = createHash('sha256').update(canonicalJson(request.body)).digest('hex');
  const inserted = await context.db
    .insertInto('idempotency')
    .values({
      team_id: team.id,
      key,
      request_hash: hash,
      response_status: null,
      response: null,
      owner: ownerName(context),
      created_at: context.now(),
    })
    .onConflict((conflict) => conflict.columns(['team_id', 'key']).doNothing())
    .executeTakeFirst();
  if (inserted.numInsertedOrUpdatedRows !== 1n) return replay(context, team.id, { key, hash });

  const write = async (status: number, answer: unknown) =>
    context.db
      .updateTable('idempotency')
      .set({ response_status: status, response: encryptJson(context.keys, 'idempotency', answer) })
      .where('team_id', '=', team.id)
      .where('key', '=', key)
      .execute();
  // The work is done: a failure to store the answer is no failure of the request.
  const finish = (status: number, answer: unknown) =>
    write(status, answer).catch((error: unknown) => {
      context.log.warn(
        { err: error },
        'an answer could not be kept for its idempotency key, will be tried again',
      );
      context.retries.add(`idempotency key ${team.id} ${key}`, () => write(status, answer));
    });
  try {
    const answer = await run();
    await finish(answer.status, answer);
    return answer;
  } catch (error) {
    if (ApiError.is(error)) {
      const failed = {
        status: error.status,
        message: error.message,
        ...(error.errorCode === undefined ? {} : { errorCode: error.errorCode }),
      };
      await finish(error.status, { failed } satisfies StoredFailure);
    }
    throw error;
  }
}

async function replay(
  context: Ports,
  teamId: string,
  { key, hash }: { key: string; hash: string },
): Promise<AnyResult> {
  const row = await context.db
    .selectFrom('idempotency')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('key', '=', key)
    .executeTakeFirst();
  if (row === undefined) throw errors.idempotencyInProgress();
  // Also for another request: the mismatch is reported once the result of the first one can be found.
  if (row.response === null && (await isAtWork(context, row.owner))) throw errors.idempotencyInProgress();
  if (row.request_hash !== hash) throw errors.idempotencyMismatch();
  if (row.response === null) throw errors.idempotencyUnknown();
  const answer = decryptJson(context.keys, 'idempotency', row.response) as AnyResult | StoredFailure;
  if ('failed' in answer) throw new ApiError({ ...answer.failed, headers: REPLAYED });
  return { ...answer, headers: { ...answer.headers, ...REPLAYED } };
}

/** Names this run of this node. What an earlier run was working on has an unknown outcome. */
function ownerName({ nodes, processId }: Uses<'nodes' | 'processId'>): string {
  return nodes.shared ? `${nodes.nodeId} ${nodes.epoch}` : processId;
}

/** Returns whether the process that began a request is still there to end it. */
async function isAtWork(context: Uses<'nodes' | 'processId'>, owner: string): Promise<boolean> {
  if (owner === ownerName(context)) return true;
  const [, nodeId, epoch] = /^(\S+) (\d+)$/.exec(owner) ?? [];
  // A server that shared its database with nobody, and has ended.
  if (!context.nodes.shared || nodeId === undefined) return false;
  return context.nodes.isRunning(nodeId, Number(epoch));
}
