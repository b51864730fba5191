import type { PartialHandlers } from '../api/handler.js';
import type { ClusterContext } from '../cluster/context.js';
import { createVolume, deleteVolume, getVolume, listVolumes } from './records.js';

export const volumeHandlers = {
  listVolumes: async ({ context, team }) => ({ status: 200, body: await listVolumes(context, team.id) }),
  createVolume: async ({ context, team, body }) => ({
    status: 201,
    body: await createVolume(context, team, body.name),
  }),
  getVolume: async ({ context, team, params }) => ({
    status: 200,
    body: await getVolume(context, team.id, params.volumeID),
  }),
  deleteVolume: async ({ context, team, params }) => {
    await deleteVolume(context, team.id, params.volumeID);
    return { status: 204 };
  },
} satisfies PartialHandlers<ClusterContext>;
