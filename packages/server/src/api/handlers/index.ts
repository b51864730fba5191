import type { PartialHandlers } from '../handler.js';
import { healthHandlers } from './health.js';
import { secretHandlers } from './secrets.js';
import { teamHandlers } from './team.js';
import { volumeHandlers } from './volumes.js';

/** All handlers, one map per resource. A new resource adds its line here and leaves the list in `not-yet.ts`. */
export const handlers: PartialHandlers = {
  ...healthHandlers,
  ...secretHandlers,
  ...teamHandlers,
  ...volumeHandlers,
};
