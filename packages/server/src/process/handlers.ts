import { errors } from '../api/errors/catalog.js';
import type { Handlers } from '../api/handler.js';
import { clusterHandlers } from '../cluster/handlers.js';
import { networkHandlers } from '../network/handlers.js';
import { sandboxHandlers } from '../sandboxes/handlers.js';
import { teamHandlers } from '../teams/handlers.js';
import { templateHandlers } from '../templates/handlers.js';
import { volumeHandlers } from '../volumes/handlers.js';
import { webhookHandlers } from '../webhooks/handlers.js';
import type { ServerContext } from './context.js';

/** All handlers, one map per room. A room that gets its first operation adds its line here. */
export const handlers: Handlers<ServerContext> = {
  getHealth: ({ context }) => {
    if (context.draining()) throw errors.shuttingDown();
    return { status: 204 };
  },
  ...clusterHandlers,
  ...networkHandlers,
  ...sandboxHandlers,
  ...teamHandlers,
  ...templateHandlers,
  ...volumeHandlers,
  ...webhookHandlers,
};
