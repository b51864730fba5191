import type { Detail } from '../../../requests/sandboxes.js';
import type { Target } from '../../../targets/target.js';
import { callOk } from '../../../wire/call.js';

export interface Made {
  templateID: string;
  sandboxID: string;
  clientID: string;
  envdVersion: string;
  alias?: string;
  envdAccessToken?: string;
  trafficAccessToken?: string;
}

export const create = (target: Target, body: Record<string, unknown>, operation = 'createSandboxV2') =>
  callOk<Made>(target, operation, 201, { body: { templateID: target.template, ...body } });

/** Seconds from the start of a sandbox to its end. */
export const lifeOf = (sandbox: Detail) => (Date.parse(sandbox.endAt) - Date.parse(sandbox.startedAt)) / 1000;
