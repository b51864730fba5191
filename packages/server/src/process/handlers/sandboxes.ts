import type { components } from '@svc/platform';
import { errors } from '../../api/errors/catalog.js';
import type { HandlerRequest, PartialHandlers } from '../../api/handler.js';
import { idempotent } from '../../api/idempotency.js';
import { parseSandboxId } from '../../api/wire/ids.js';
import { parseNotBefore } from '../../api/wire/time.js';
import { forkElsewhere } from '../../cluster/fleet/fork-elsewhere.js';
import { wakeOrMove } from '../../cluster/fleet/move-sandbox.js';
import { type PassOn, placeSandbox } from '../../cluster/fleet/place-sandbox.js';
import { connectSandbox } from '../../sandboxes/change/connect.js';
import { forkSandbox } from '../../sandboxes/change/fork.js';
import { pauseSandbox } from '../../sandboxes/change/pause.js';
import { resumeSandbox } from '../../sandboxes/change/resume.js';
import { refreshSandbox, setSandboxTimeout } from '../../sandboxes/change/timeout.js';
import { updateSandboxNetwork } from '../../sandboxes/change/update-network.js';
import { killSandbox } from '../../sandboxes/kill.js';
import { listSandboxes } from '../../sandboxes/records/list.js';
import { parseMetadataFilter } from '../../sandboxes/records/metadata-filter.js';
import { getSandbox } from '../../sandboxes/records/rows.js';
import { detailToWire, listedToWire, sandboxToWire } from '../../sandboxes/records/wire.js';
import { createSandbox } from '../../sandboxes/start/create.js';
import type { ServerContext, Uses } from '../context.js';

const settings = (context: Uses<'config' | 'keys'>) => ({ keys: context.keys, ...context.config });
const filterOf = (text: string | undefined) => (text === undefined ? undefined : parseMetadataFilter(text));

/** Makes a sandbox on the node that suits best. */
async function createOn(
  request: HandlerRequest<'createSandbox', ServerContext> | HandlerRequest<'createSandboxV2', ServerContext>,
  defaultTimeoutSeconds: number,
): Promise<{ status: 201; body: components['schemas']['Sandbox'] }> {
  const { context, team, body, signal } = request;
  const passOn = request.passOn as PassOn<Awaited<ReturnType<typeof createOn>>> | undefined;
  return placeSandbox(context, { team, request: body, passOn }, async () => {
    const row = await createSandbox(context, { team, request: body, defaultTimeoutSeconds, signal });
    return { status: 201, body: sandboxToWire(row, settings(context)) };
  });
}

/** Connects to a sandbox, which may wake on another node. */
function connectOn(
  request:
    | HandlerRequest<'connectSandbox', ServerContext>
    | HandlerRequest<'connectSandboxV2', ServerContext>,
  timeoutSeconds: number,
  memory: boolean | undefined,
): Promise<{ status: 200 | 201; body: components['schemas']['Sandbox'] }> {
  const { context, team, params } = request;
  const sandboxId = parseSandboxId(params.sandboxID);
  const passOn = request.passOn as PassOn<Awaited<ReturnType<typeof connectOn>>> | undefined;
  return wakeOrMove(context, { sandboxId, teamId: team.id, passOn }, async () => {
    const { row, resumed } = await connectSandbox(context, { team, sandboxId, timeoutSeconds, memory });
    return { status: resumed ? 201 : 200, body: sandboxToWire(row, settings(context)) };
  });
}

export const placedHandlers = {
  listSandboxes: async ({ context, team, query }) => {
    const page = await listSandboxes(context, {
      team,
      states: ['running'],
      metadata: filterOf(query.metadata),
    });
    return { status: 200, body: page.rows.map(listedToWire) };
  },

  listSandboxesV2: async ({ context, team, query }) => {
    const page = await listSandboxes(context, {
      team,
      states: query.state === undefined || query.state.length === 0 ? ['running', 'paused'] : query.state,
      metadata: filterOf(query.metadata),
      order: query.order,
      startedAfterMs: query.startedAfter === undefined ? undefined : parseNotBefore(query.startedAfter),
      template: query.template,
      nextToken: query.nextToken,
      limit: query.limit ?? 100,
    });
    return {
      status: 200,
      headers: {
        ...(page.nextToken === undefined ? {} : { 'X-Next-Token': page.nextToken }),
        ...(page.totalRunning === undefined ? {} : { 'X-Total-Running': String(page.totalRunning) }),
      },
      body: page.rows.map(listedToWire),
    };
  },

  createSandbox: (request) => createOn(request, 15),

  createSandboxV2: (request) => idempotent(request, () => createOn(request, 300)),

  getSandbox: async ({ context, team, params }) => {
    const row = await getSandbox(context, team.id, parseSandboxId(params.sandboxID));
    return { status: 200, body: detailToWire(row, settings(context)) };
  },

  killSandbox: async ({ context, team, params }) => {
    await killSandbox(context, team.id, parseSandboxId(params.sandboxID));
    return { status: 204 };
  },

  pauseSandbox: async ({ context, team, params, body }) => {
    await pauseSandbox(context, team, parseSandboxId(params.sandboxID), body?.memory ?? true);
    return { status: 204 };
  },

  resumeSandbox: (request) => {
    const { context, team, params, body } = request;
    const sandboxId = parseSandboxId(params.sandboxID);
    return wakeOrMove(
      context,
      {
        sandboxId,
        teamId: team.id,
        passOn: request.passOn as PassOn<{ status: 201; body: components['schemas']['Sandbox'] }> | undefined,
      },
      async () => {
        const row = await resumeSandbox(context, {
          team,
          sandboxId,
          timeoutSeconds: body?.timeout ?? 15,
          autoPause: body?.autoPause,
          memory: body?.memory,
        });
        return { status: 201 as const, body: sandboxToWire(row, settings(context)) };
      },
    );
  },

  connectSandbox: (request) => connectOn(request, request.body.timeout, request.body.memory),

  connectSandboxV2: (request) => connectOn(request, request.body?.timeout ?? 300, request.body?.memory),

  setSandboxTimeout: async ({ context, team, params, body }) => {
    await setSandboxTimeout(context, team, parseSandboxId(params.sandboxID), body.timeout);
    return { status: 204 };
  },

  refreshSandbox: async ({ context, team, params, body }) => {
    await refreshSandbox(context, team, parseSandboxId(params.sandboxID), body?.duration);
    return { status: 204 };
  },

  forkSandbox: async ({ context, team, params, body, signal }) => {
    const results = await forkSandbox(context, {
      team,
      sandboxId: parseSandboxId(params.sandboxID),
      timeoutSeconds: body?.timeout ?? 15,
      count: body?.count ?? 1,
      elsewhere: context.copies.possible ? (left) => forkElsewhere(context, left) : undefined,
      signal,
    });
    return { status: 201, body: results };
  },

  updateSandboxNetwork: async ({ context, team, params, body }) => {
    if (body === undefined) throw errors.validation('the body is missing');
    await updateSandboxNetwork(context, team, parseSandboxId(params.sandboxID), body);
    return { status: 204 };
  },
} satisfies PartialHandlers<ServerContext>;
