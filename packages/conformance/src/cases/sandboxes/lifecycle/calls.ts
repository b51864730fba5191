import { type Detail, detail } from '../../../requests/sandboxes.js';
import type { Target, TestSandbox } from '../../../targets/target.js';
import { type Api, assertFailure, call } from '../../../wire/call.js';

export const read = (api: Api, { sandboxId }: TestSandbox) => detail(api, sandboxId);

/** Calls an operation on a sandbox. */
export const act = (api: Api, sandbox: TestSandbox, operation: string, body?: unknown) =>
  call(api, operation, { path: { sandboxID: sandbox.sandboxId }, ...(body === undefined ? {} : { body }) });

export const gone = async (target: Target, sandbox: TestSandbox) =>
  assertFailure(await act(target, sandbox, 'getSandbox'), { status: 404 });

/** Seconds that a sandbox has left. */
export const left = (detail: Detail) => (Date.parse(detail.endAt) - Date.now()) / 1000;
