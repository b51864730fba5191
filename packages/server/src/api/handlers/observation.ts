import { trafficToWire } from '../../egress/wire.js';
import { parseSandboxId } from '../../ids/parse.js';
import { getSandbox } from '../../sandboxes/get.js';
import { latestMetrics, readMetrics } from '../../telemetry/metrics.js';
import { readLogs } from '../../telemetry/read-logs.js';
import type { PartialHandlers } from '../handler.js';

export const observationHandlers = {
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
} satisfies PartialHandlers;
