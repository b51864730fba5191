import type { Target, TestSandbox } from '../../../targets/target.js';
import { type Api, assertFailure, assertStatus, call } from '../../../wire/call.js';

export interface Detail {
  state: string;
  startedAt: string;
  endAt: string;
  envdAccessToken?: string;
  metadata?: Record<string, string>;
  network?: Record<string, unknown>;
}

export async function read(api: Api, sandbox: TestSandbox): Promise<Detail> {
  return assertStatus<Detail>(await call(api, 'getSandbox', { path: { sandboxID: sandbox.sandboxId } }), 200);
}

/** Calls an operation on a sandbox. */
export const act = (api: Api, sandbox: TestSandbox, operation: string, body?: unknown) =>
  call(api, operation, { path: { sandboxID: sandbox.sandboxId }, ...(body === undefined ? {} : { body }) });

export const gone = async (target: Target, sandbox: TestSandbox) =>
  assertFailure(await act(target, sandbox, 'getSandbox'), { status: 404 });

/** Seconds that a sandbox has left. */
export const left = (detail: Detail) => (Date.parse(detail.endAt) - Date.now()) / 1000;
