import type { Case } from '../case.js';
import { connectCases } from './daemon/connect-protocol.js';
import { processCases } from './daemon/process.js';
import { browserCases } from './every-operation/browsers.js';
import { credentialCases } from './every-operation/credentials.js';
import { limitCases } from './every-operation/limits.js';
import { requestCases } from './every-operation/requests.js';
import { createCases } from './sandboxes/create.js';
import { lifecycleCases } from './sandboxes/lifecycle.js';

/** Every case, in the order in which they run. */
export const cases: readonly Case[] = [
  ...credentialCases,
  ...requestCases,
  ...limitCases,
  ...browserCases,
  ...createCases,
  ...lifecycleCases,
  ...processCases,
  ...connectCases,
];
