import { errors } from '../api/errors/catalog.js';
import type { HandlerRequest, PartialHandlers } from '../api/handler.js';
import { parseSandboxId } from '../api/wire/ids.js';
import { parseNotBefore } from '../api/wire/time.js';
import { trafficToWire } from '../network/egress/traffic.js';
import { connectSandbox } from './change/connect.js';
import { pauseSandbox } from './change/pause.js';
import { resumeSandbox } from './change/resume.js';
import { createSnapshot } from './change/snapshot.js';
import { refreshSandbox, setSandboxTimeout } from './change/timeout.js';
import { updateSandboxNetwork } from './change/update-network.js';
import type { SandboxesContext, Uses } from './context.js';
import { killSandbox } from './kill.js';
import { listSandboxes, parseMetadataFilter } from './records/list.js';
import { listSnapshots } from './records/list-snapshots.js';
import { getSandbox } from './records/rows.js';
import { detailToWire, listedToWire, sandboxToWire } from './records/wire.js';
import { createSandbox } from './start/create.js';
import { latestMetrics, readMetrics } from './telemetry/metrics.js';
import { readLogs } from './telemetry/read-logs.js';

const settings = (context: Uses<'config' | 'keys'>) => ({ keys: context.keys, ...context.config });
const filterOf = (text: string | undefined) => (text === undefined ? undefined : parseMetadataFilter(text));

async function create(
  request:
    | HandlerRequest<'createSandbox', SandboxesContext>
    | HandlerRequest<'createSandboxV2', SandboxesContext>,
  defaultTimeoutSeconds: number,
) {
  const { context, team, body, signal } = request;
  const row = await createSandbox(context, { team, request: body, defaultTimeoutSeconds, signal });
  return { status: 201 as const, body: sandboxToWire(row, settings(context)) };
}

async function connect(
  request:
    | HandlerRequest<'connectSandbox', SandboxesContext>
    | HandlerRequest<'connectSandboxV2', SandboxesContext>,
  timeoutSeconds: number,
  memory: boolean | undefined,
) {
  const { context, team, params } = request;
  const sandboxId = parseSandboxId(params.sandboxID);
  const { row, resumed } = await connectSandbox(context, { team, sandboxId, timeoutSeconds, memory });
  return { status: resumed ? (201 as const) : (200 as const), body: sandboxToWire(row, settings(context)) };
}

export const sandboxHandlers = {
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

  createSandbox: (request) => create(request, 15),

  createSandboxV2: (request) => create(request, 300),

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

  resumeSandbox: async ({ context, team, params, body }) => {
    const row = await resumeSandbox(context, {
      team,
      sandboxId: parseSandboxId(params.sandboxID),
      timeoutSeconds: body?.timeout ?? 15,
      autoPause: body?.autoPause,
      memory: body?.memory,
    });
    return { status: 201, body: sandboxToWire(row, settings(context)) };
  },

  connectSandbox: (request) => connect(request, request.body.timeout, request.body.memory),

  connectSandboxV2: (request) => connect(request, request.body?.timeout ?? 300, request.body?.memory),

  setSandboxTimeout: async ({ context, team, params, body }) => {
    await setSandboxTimeout(context, team, parseSandboxId(params.sandboxID), body.timeout);
    return { status: 204 };
  },

  refreshSandbox: async ({ context, team, params, body }) => {
    await refreshSandbox(context, team, parseSandboxId(params.sandboxID), body?.duration);
    return { status: 204 };
  },

  updateSandboxNetwork: async ({ context, team, params, body }) => {
    if (body === undefined) throw errors.validation('the body is missing');
    await updateSandboxNetwork(context, team, parseSandboxId(params.sandboxID), body);
    return { status: 204 };
  },

  createSnapshot: async ({ context, team, params, body }) => ({
    status: 201,
    body: await createSnapshot(context, {
      team,
      sandboxId: parseSandboxId(params.sandboxID),
      name: body.name,
      memory: body.memory ?? true,
    }),
  }),

  listSnapshots: async ({ context, team, query }) => {
    const page = await listSnapshots(context, {
      team,
      sandboxId: query.sandboxID === undefined ? undefined : parseSandboxId(query.sandboxID),
      name: query.name,
      limit: query.limit ?? 100,
      nextToken: query.nextToken,
    });
    return {
      status: 200,
      ...(page.nextToken === undefined ? {} : { headers: { 'X-Next-Token': page.nextToken } }),
      body: page.snapshots,
    };
  },

  getSandboxLogs: async ({ context, team, params, query }) => {
    const { entries } = await readLogs(context, {
      teamId: team.id,
      sandboxId: parseSandboxId(params.sandboxID),
      cursorMs: query.start,
      limit: query.limit ?? 1000,
      direction: 'forward',
    });
    return {
      status: 200,
      body: {
        logs: entries.map(({ timestamp, message }) => ({ timestamp, line: message })),
        logEntries: entries,
      },
    };
  },

  getSandboxEgress: async ({ context, team, params }) => {
    const { id } = await getSandbox(context, team.id, parseSandboxId(params.sandboxID));
    await context.countPackets().catch((error: unknown) => {
      context.log.debug({ err: error, sandboxId: id }, 'refused packets could not be counted');
    });
    return { status: 200, body: trafficToWire(context.traffic.of(id)) };
  },

  getSandboxLogsV2: async ({ context, team, params, query }) => {
    const { entries, nextToken } = await readLogs(context, {
      teamId: team.id,
      sandboxId: parseSandboxId(params.sandboxID),
      cursorMs: query.cursor,
      nextToken: query.nextToken,
      limit: query.limit ?? 1000,
      direction: query.direction ?? 'backward',
      level: query.level,
      search: query.search,
    });
    return {
      status: 200,
      ...(nextToken === undefined ? {} : { headers: { 'X-Next-Token': nextToken } }),
      body: { logs: entries },
    };
  },

  getSandboxMetrics: async ({ context, team, params, query }) => ({
    status: 200,
    body: await readMetrics(context, {
      teamId: team.id,
      sandboxId: parseSandboxId(params.sandboxID),
      startSeconds: query.start,
      endSeconds: query.end,
    }),
  }),

  listSandboxesMetrics: async ({ context, team, query }) => ({
    status: 200,
    body: { sandboxes: await latestMetrics(context, team.id, query.sandbox_ids.map(parseSandboxId)) },
  }),
} satisfies PartialHandlers<SandboxesContext>;
