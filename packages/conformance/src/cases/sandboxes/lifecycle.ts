import { casesOf } from '../../case.js';
import { badTimeCases } from './lifecycle/bad-times.js';
import { connectCases } from './lifecycle/connect.js';
import { foreignCases } from './lifecycle/foreign.js';
import { killCases } from './lifecycle/kill.js';
import { networkCases } from './lifecycle/network.js';
import { pauseCases } from './lifecycle/pause.js';
import { timeoutCases } from './lifecycle/timeout.js';

/** Kill, pause, resume, connect, timeout, refresh. */
export const lifecycleCases = casesOf('lifecycle', [
  ...killCases,
  ...foreignCases,
  ...pauseCases,
  ...badTimeCases,
  ...connectCases,
  ...timeoutCases,
  ...networkCases,
]);
