import type { Target } from '../../../targets/target.js';
import { assertStatus, call } from '../../../wire/call.js';

export interface Made {
  templateID: string;
  sandboxID: string;
  clientID: string;
  envdVersion: string;
  alias?: string;
  envdAccessToken?: string;
  trafficAccessToken?: string;
}

export interface Detail extends Made {
  startedAt: string;
  endAt: string;
  state: string;
  metadata?: Record<string, string>;
  network?: Record<string, unknown>;
  lifecycle: { autoResume: boolean; onTimeout: string };
  allowInternetAccess?: boolean | null;
}

export async function create(
  target: Target,
  body: Record<string, unknown>,
  operation = 'createSandboxV2',
): Promise<Made> {
  const answer = await call(target, operation, { body: { templateID: target.template, ...body } });
  return assertStatus<Made>(answer, 201);
}

export async function detail(target: Target, sandboxID: string): Promise<Detail> {
  return assertStatus<Detail>(await call(target, 'getSandbox', { path: { sandboxID } }), 200);
}

export async function kill(target: Target, sandboxID: string): Promise<void> {
  assertStatus(await call(target, 'killSandbox', { path: { sandboxID } }), 204);
}

/** Seconds from the start of a sandbox to its end. */
export const lifeOf = (sandbox: Detail) => (Date.parse(sandbox.endAt) - Date.parse(sandbox.startedAt)) / 1000;
