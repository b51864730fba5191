import type { operatorOperationTypes as Operations } from '@svc/platform/operator';
import type { Uses } from '../context/context.js';
import { createApiKey } from '../teams/create-api-key.js';
import { createTeam } from '../teams/create-team.js';
import { deleteApiKey } from '../teams/delete-api-key.js';
import { findTeam, type TeamRow } from '../teams/find-team.js';
import { listApiKeys } from '../teams/list-api-keys.js';
import { listTeams } from '../teams/list-teams.js';
import { updateTeam } from '../teams/update-team.js';
import { operatorTeamToWire, settingsFromWire } from '../teams/wire.js';

/** What the operations of the operator take of the server. */
export type OperatorPorts = Uses<'db' | 'dialect' | 'ids' | 'log' | 'now' | 'teams'>;

export type OperatorOperationId = keyof Operations;

/** One request, checked against the document. */
interface OperatorRequest<Op extends OperatorOperationId> {
  context: OperatorPorts;
  params: NonNullable<Operations[Op]['parameters']['path']>;
  query: NonNullable<Operations[Op]['parameters']['query']>;
  body: Operations[Op] extends { requestBody: { content: { 'application/json': infer Body } } }
    ? Body
    : undefined;
}

type Responses<Op extends OperatorOperationId> = Operations[Op]['responses'];

/** What a handler answers on success. Failures are thrown, from the catalog. */
type Answer<Op extends OperatorOperationId> = {
  [Status in keyof Responses<Op> & (200 | 201 | 204)]: {
    status: Status;
    headers?: Record<string, string>;
  } & (Responses<Op>[Status] extends { content: { 'application/json': infer Body } }
    ? { body: Body }
    : { body?: undefined });
}[keyof Responses<Op> & (200 | 201 | 204)];

export type OperatorHandlers = {
  [Op in OperatorOperationId]: (request: OperatorRequest<Op>) => Promise<Answer<Op>>;
};

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
    return { status: 200, body: toWire(context, row) };
  },

  listTeamApiKeys: async ({ context, params }) => {
    const { id } = await findTeam(context, params.team);
    return { status: 200, body: await listApiKeys(context, id) };
  },

  createTeamApiKey: async ({ context, params, body }) => {
    const { id } = await findTeam(context, params.team);
    const made = await createApiKey(context, id, body.name);
    context.log.info({ teamId: id, apiKeyId: made.id }, 'the operator made a key');
    return { status: 201, body: made };
  },

  deleteTeamApiKey: async ({ context, params }) => {
    const { id } = await findTeam(context, params.team);
    await deleteApiKey(context, id, params.apiKeyID);
    context.log.info({ teamId: id, apiKeyId: params.apiKeyID }, 'the operator deleted a key');
    return { status: 204 };
  },
};
