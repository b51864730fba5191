import type { operatorOperationTypes } from '@svc/platform/operator';
import { entryToWire, listEntries } from '../api/audit/list-entries.js';
import { errors } from '../api/errors/catalog.js';
import type { CheckedRequest, OperatorOperationId, Result } from '../api/operations.js';
import { isoTime, parseNotBefore } from '../api/wire/time.js';
import type { Uses } from '../cluster/context.js';
import { findNode, listNodes, nodeToWire } from '../cluster/fleet/list-nodes.js';
import { drainNode, forgetNode, removeNode } from '../cluster/fleet/remove-node.js';
import { enforceEgressLimits } from '../sandboxes/change/enforce-egress-limits.js';
import { createApiKey, deleteApiKey, listApiKeys, newKeyFromWire, rotateApiKey } from '../teams/api-keys.js';
import { createTeam, findTeam, listTeams, type TeamRow, updateTeam } from '../teams/records.js';
import { listUsage, teamUse, usageToWire } from '../teams/team-use.js';
import { writeUsage } from '../teams/usage/write-usage.js';
import { operatorTeamToWire, settingsFromWire } from '../teams/wire.js';

/** The members of the context that the operations of the operator use. */
export type OperatorPorts = Uses<
  | 'audit'
  | 'config'
  | 'db'
  | 'dialect'
  | 'driver'
  | 'egress'
  | 'egressLimits'
  | 'events'
  | 'ids'
  | 'keys'
  | 'log'
  | 'nodes'
  | 'now'
  | 'sandboxes'
  | 'teams'
  | 'usage'
  | 'volumes'
> & {
  /** Makes links that sign in to the dashboard. */
  dashboard: { issueCode(): { code: string; expiresAtMs: number } };
};

const DAY_MS = 86_400_000;
const DEFAULT_OVERLAP_SECONDS = 86_400;

type OperatorHandlers = {
  [Op in OperatorOperationId]: (
    request: CheckedRequest<operatorOperationTypes[Op]> & { context: OperatorPorts },
  ) => Promise<Result<operatorOperationTypes[Op]>>;
};

/** A time that fits its format. @throws {ApiError} 400 for one that there is not, such as a leap second */
function readTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const atMs = parseNotBefore(text);
  if (Number.isNaN(atMs)) throw errors.validation(`there is no time ${text}`);
  return atMs;
}

const toWire = (context: OperatorPorts, row: TeamRow) => operatorTeamToWire(row, context.teams.toTeam(row));

/** The operations of `spec/operator.yaml`. */
export const operatorHandlers: OperatorHandlers = {
  listTeams: async ({ context, query }) => {
    const page = await listTeams(context, { limit: query.limit ?? 100, nextToken: query.nextToken });
    return { status: 200, headers: page.headers, body: page.rows.map((row) => toWire(context, row)) };
  },

  createTeam: async ({ context, body }) => {
    const { slug, name } = body;
    const row = await createTeam(context, { slug, name, ...settingsFromWire(body) });
    context.log.info({ teamId: row.id, slug }, 'the operator made a team');
    return { status: 201, body: toWire(context, row) };
  },

  getTeam: async ({ context, params }) => ({
    status: 200,
    body: toWire(context, await findTeam(context, params.team)),
  }),

  updateTeam: async ({ context, params, body }) => {
    const { name, banned, blocked, blockedReason } = body;
    const change = { name, banned, blocked, blockedReason, ...settingsFromWire(body) };
    const row = await updateTeam(context, params.team, change);
    const { limits, flags } = row;
    context.log.info({ teamId: row.id, banned, blocked, limits, flags }, 'the operator changed a team');
    if (change.limits.maxEgressMonthMiB !== undefined) await enforceEgressLimits(context);
    return { status: 200, body: toWire(context, row) };
  },

  getTeamUsage: async ({ context, params, query }) => {
    const { id } = await findTeam(context, params.team);
    const untilMs = readTime(query.until) ?? context.now();
    const fromMs = readTime(query.from) ?? untilMs - DAY_MS;
    await writeUsage(context);
    const use = await teamUse(context, id);
    return { status: 200, body: usageToWire(use, await listUsage(context, id, { fromMs, untilMs })) };
  },

  listTeamApiKeys: async ({ context, params }) => {
    const { id } = await findTeam(context, params.team);
    return { status: 200, body: await listApiKeys(context, id) };
  },

  createTeamApiKey: async ({ context, params, body }) => {
    const { id } = await findTeam(context, params.team);
    const made = await createApiKey(context, id, newKeyFromWire(body));
    context.log.info({ teamId: id, apiKeyId: made.id }, 'the operator made a key');
    return { status: 201, body: made };
  },

  deleteTeamApiKey: async ({ context, params }) => {
    const { id } = await findTeam(context, params.team);
    await deleteApiKey(context, id, params.apiKeyID);
    context.log.info({ teamId: id, apiKeyId: params.apiKeyID }, 'the operator deleted a key');
    return { status: 204 };
  },

  rotateApiKey: async ({ context, params, body }) => {
    const { overlapSeconds = DEFAULT_OVERLAP_SECONDS, expiresAt } = body;
    const made = await rotateApiKey(context, params.apiKeyID, {
      overlapMs: overlapSeconds * 1000,
      expiresAtMs: expiresAt === undefined ? undefined : Date.parse(expiresAt),
    });
    context.log.info({ apiKeyId: params.apiKeyID, successorId: made.id }, 'the operator rotated a key');
    return { status: 201, body: made };
  },

  listAuditEntries: async ({ context, query }) => {
    const { team, actor, operation, resource, outcome, from, until } = query;
    const filter = {
      teamId: team === undefined ? undefined : (await findTeam(context, team)).id,
      actor,
      operation,
      resourceId: resource,
      outcome,
      fromMs: readTime(from),
      untilMs: readTime(until),
    };
    const { limit = 100, order = 'desc', nextToken } = query;
    const page = await listEntries(context, { filter, limit, order, nextToken });
    return { status: 200, headers: page.headers, body: page.rows.map(entryToWire) };
  },

  listNodes: async ({ context }) => ({ status: 200, body: (await listNodes(context)).map(nodeToWire) }),

  drainNode: async ({ context, params, body }) => {
    await drainNode(context, params.nodeID, body.sandboxes);
    context.log.info(
      { drainedNodeId: params.nodeID, sandboxes: body.sandboxes },
      'the operator drains a node',
    );
    return { status: 200, body: nodeToWire(await findNode(context, params.nodeID)) };
  },

  undrainNode: async ({ context, params }) => {
    await drainNode(context, params.nodeID, 'no');
    context.log.info({ drainedNodeId: params.nodeID }, 'the operator ended the drain of a node');
    return { status: 200, body: nodeToWire(await findNode(context, params.nodeID)) };
  },

  removeNode: async ({ context, params }) => {
    await removeNode(context, params.nodeID);
    context.log.info({ removedNodeId: params.nodeID }, 'the operator removed a node');
    return { status: 204 };
  },

  forgetNode: async ({ context, params }) => ({
    status: 200,
    body: await forgetNode(context, params.nodeID),
  }),
  createDashboardCode: async ({ context }) => {
    const { code, expiresAtMs } = context.dashboard.issueCode();
    context.log.info('the operator made a link to the dashboard');
    return { status: 201, body: { code, expiresAt: isoTime(expiresAtMs) } };
  },
};
