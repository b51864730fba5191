import type { PartialHandlers } from '../api/handler.js';
import { parseSandboxId } from '../api/wire/ids.js';
import { forkSandbox } from '../sandboxes/change/fork.js';
import type { ClusterContext } from './context.js';
import { forkOnOtherNodes } from './fleet/fork-on-other-nodes.js';

/** Operations that one request spreads over several nodes. */
export const clusterHandlers = {
  forkSandbox: async ({ context, team, params, body, signal }) => {
    const results = await forkSandbox(context, {
      team,
      sandboxId: parseSandboxId(params.sandboxID),
      timeoutSeconds: body?.timeout ?? 15,
      count: body?.count ?? 1,
      otherNodes: context.copies.possible ? (left) => forkOnOtherNodes(context, left) : undefined,
      signal,
    });
    return { status: 201, body: results };
  },
} satisfies PartialHandlers<ClusterContext>;
