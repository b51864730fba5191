import type { Handlers } from '../handler.js';
import { healthHandlers } from './health.js';
import { identityHandlers } from './identity.js';
import { observationHandlers } from './observation.js';
import { sandboxHandlers } from './sandboxes.js';
import { secretHandlers } from './secrets.js';
import { snapshotHandlers } from './snapshots.js';
import { teamHandlers } from './team.js';
import { templateHandlers } from './templates.js';
import { volumeHandlers } from './volumes.js';
import { webhookHandlers } from './webhooks.js';

/** All handlers, one map per resource. A new resource adds its line here. */
export const handlers: Handlers = {
  ...healthHandlers,
  ...identityHandlers,
  ...observationHandlers,
  ...sandboxHandlers,
  ...snapshotHandlers,
  ...secretHandlers,
  ...teamHandlers,
  ...templateHandlers,
  ...volumeHandlers,
  ...webhookHandlers,
};
