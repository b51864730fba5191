import { parseSandboxId } from '../../ids/parse.js';
import { listSnapshots } from '../../sandboxes/list-snapshots.js';
import { createSnapshot } from '../../sandboxes/snapshot.js';
import type { PartialHandlers } from '../handler.js';

export const snapshotHandlers = {
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
} satisfies PartialHandlers;
