import type { Case } from '../case.js';
import { connectCases } from './daemon/connect-protocol.js';
import { fileCases } from './daemon/files.js';
import { filesystemCases } from './daemon/filesystem.js';
import { processCases } from './daemon/process.js';
import { egressCases } from './egress/egress.js';
import { browserCases } from './every-operation/browsers.js';
import { credentialCases } from './every-operation/credentials.js';
import { limitCases } from './every-operation/limits.js';
import { outageCases } from './every-operation/outages.js';
import { requestCases } from './every-operation/requests.js';
import { gatewayCases } from './gateway/gateway.js';
import { placementCases } from './placement/placement.js';
import { identityCases } from './records/identity.js';
import { secretCases } from './records/secrets.js';
import { teamCases } from './records/team.js';
import { volumeCases } from './records/volumes.js';
import { webhookCases } from './records/webhooks.js';
import { createCases } from './sandboxes/create.js';
import { lifecycleCases } from './sandboxes/lifecycle.js';
import { listCases } from './sandboxes/lists.js';
import { memoryCases } from './sandboxes/memory.js';
import { observationCases } from './sandboxes/observation.js';
import { templateCases } from './templates/templates.js';

/** Every case, in the order in which they run. */
export const cases: readonly Case[] = [
  ...credentialCases,
  ...requestCases,
  ...limitCases,
  ...outageCases,
  ...browserCases,
  ...createCases,
  ...lifecycleCases,
  ...listCases,
  ...observationCases,
  ...memoryCases,
  ...templateCases,
  ...secretCases,
  ...identityCases,
  ...volumeCases,
  ...webhookCases,
  ...teamCases,
  ...gatewayCases,
  ...egressCases,
  ...placementCases,
  ...processCases,
  ...connectCases,
  ...filesystemCases,
  ...fileCases,
];
