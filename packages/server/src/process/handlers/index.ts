import type { Handlers } from '../../api/handler.js';
import { networkHandlers } from '../../network/handlers.js';
import { sandboxHandlers } from '../../sandboxes/handlers.js';
import { teamHandlers } from '../../teams/handlers.js';
import { templateHandlers } from '../../templates/handlers.js';
import { volumeHandlers } from '../../volumes/handlers.js';
import { webhookHandlers } from '../../webhooks/handlers.js';
import type { ServerContext } from '../context.js';
import { healthHandlers } from './health.js';
import { placedHandlers } from './sandboxes.js';

/** All handlers, one map per resource. A new resource adds its line here. */
export const handlers: Handlers<ServerContext> = {
  ...healthHandlers,
  ...networkHandlers,
  ...placedHandlers,
  ...sandboxHandlers,
  ...teamHandlers,
  ...templateHandlers,
  ...volumeHandlers,
  ...webhookHandlers,
};
