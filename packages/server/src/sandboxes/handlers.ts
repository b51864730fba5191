import type { PartialHandlers } from '../api/handler.js';
import { parseSandboxId } from '../api/wire/ids.js';
import { trafficToWire } from '../network/egress/wire.js';
import { createSnapshot } from './change/snapshot.js';
import type { SandboxesContext } from './context.js';
import { listSnapshots } from './records/list-snapshots.js';
import { getSandbox } from './records/rows.js';
import { latestMetrics, readMetrics } from './telemetry/metrics.js';
import { readLogs } from './telemetry/read-logs.js';

export const sandboxHandlers = {
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
      context.log.debug({ err: error, sandboxId: id }, 'what the network refused could not be counted');
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
