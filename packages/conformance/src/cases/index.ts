import type { Case } from '../case.js';
import { connectCases } from './daemon/connect-protocol.js';
import { fileCases } from './daemon/files.js';
import { filesystemCases } from './daemon/filesystem.js';
import { processCases } from './daemon/process.js';
import { browserCases } from './every-operation/browsers.js';
import { credentialCases } from './every-operation/credentials.js';
import { limitCases } from './every-operation/limits.js';
import { requestCases } from './every-operation/requests.js';
import { gatewayCases } from './gateway/gateway.js';
import { createCases } from './sandboxes/create.js';
import { lifecycleCases } from './sandboxes/lifecycle.js';
import { listCases } from './sandboxes/lists.js';

/** Every case, in the order in which they run. */
export const cases: readonly Case[] = [
  ...credentialCases,
  ...requestCases,
  ...limitCases,
  ...browserCases,
  ...createCases,
  ...lifecycleCases,
  ...listCases,
  ...gatewayCases,
  ...processCases,
  ...connectCases,
  ...filesystemCases,
  ...fileCases,
];
