import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import type { PageList } from '../core/page.js';
import { defined, toSeconds } from '../core/wire-values.js';
import type { DaemonTarget } from '../daemon/target.js';
import { ConflictError } from '../errors/answer-errors.js';
import type { SnapshotInfo } from '../snapshots/snapshot.js';
import { fromSnapshot } from '../snapshots/wire.js';
import type { SandboxDetail, SandboxEgress, SandboxInfo, SandboxMetrics } from './info.js';
import type {
  ConnectSandboxOptions,
  CreateSandboxOptions,
  EgressOptions,
  ListSandboxesOptions,
} from './options.js';
import {
  fromDetail,
  fromEgress,
  fromListed,
  fromMetric,
  fromSandbox,
  toConnectBody,
  toCreateBody,
  toListQuery,
  toNetworkUpdate,
  toResumeBody,
} from './wire.js';

// The platform's operations on one sandbox, each a function of the client's core. `Sandbox` and `Sandboxes` are facades.

const resource = 'sandbox' as const;

/** Facts for reaching a sandbox, and the id of its template. */
export type SandboxTarget = DaemonTarget & { readonly templateId: string };

export async function createSandbox(
  core: ClientCore,
  first: string | CreateSandboxOptions | undefined,
  rest: CreateSandboxOptions = {},
): Promise<SandboxTarget> {
  return createOnce(core, typeof first === 'string' ? { ...rest, template: first } : (first ?? rest));
}

/** @param onAnswer called with the last answer, failed or not, for its headers. */
export async function createOnce(
  core: ClientCore,
  options: CreateSandboxOptions,
  {
    operation = 'sandboxes.create',
    onAnswer,
  }: { operation?: string; onAnswer?: (answer: Response) => void } = {},
): Promise<SandboxTarget> {
  const { idempotencyKey } = options;
  const body = toCreateBody(options);
  const data = await core.platform.call(
    { operation, resource: 'template', options },
    async (platform, fetch) => {
      const answer = await platform.POST('/v2/sandboxes', {
        body,
        fetch,
        ...(idempotencyKey === undefined
          ? {}
          : { params: { header: { 'Idempotency-Key': idempotencyKey } } }),
      });
      onAnswer?.(answer.response);
      return answer;
    },
  );
  return fromSandbox(data);
}

export async function connectSandbox(
  core: ClientCore,
  sandboxID: string,
  options: ConnectSandboxOptions,
  operation = 'sandboxes.connect',
): Promise<SandboxTarget> {
  // Only the older operation takes `autoPause`; it refuses a sandbox that runs, so that it is not repeated blindly.
  if (options.autoPause !== undefined) return resumeSandbox(core, sandboxID, options);
  const context = { operation, resource, idempotent: true, options };
  const body = toConnectBody(options);
  const data = await core.platform.call(context, (platform, fetch) =>
    platform.POST('/v2/sandboxes/{sandboxID}/connect', {
      params: { path: { sandboxID } },
      fetch,
      ...(body === undefined ? {} : { body }),
    }),
  );
  return fromSandbox(data);
}

async function resumeSandbox(
  core: ClientCore,
  sandboxID: string,
  options: ConnectSandboxOptions,
): Promise<SandboxTarget> {
  const context = { operation: 'sandboxes.connect', resource, options } as const;
  const body = toResumeBody(options);
  const data = await core.platform.call(context, (platform, fetch) =>
    platform.POST('/sandboxes/{sandboxID}/resume', { params: { path: { sandboxID } }, body, fetch }),
  );
  return fromSandbox(data);
}

export async function getSandbox(
  core: ClientCore,
  sandboxID: string,
  options: RequestOptions,
  operation = 'sandboxes.get',
): Promise<{ target: SandboxTarget; detail: SandboxDetail }> {
  const data = await core.platform.call({ operation, resource, options }, (platform, fetch) =>
    platform.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID } }, fetch }),
  );
  return { target: fromSandbox(data), detail: fromDetail(data) };
}

export function listSandboxes(core: ClientCore, options: ListSandboxesOptions): PageList<SandboxInfo> {
  return core.platform.list(
    { operation: 'sandboxes.list', options },
    (platform, fetch, token) =>
      platform.GET('/v2/sandboxes', { params: { query: toListQuery(options, token) }, fetch }),
    fromListed,
  );
}

export function killSandbox(core: ClientCore, sandboxID: string, options: RequestOptions): Promise<boolean> {
  return core.platform.delete({ operation: 'sandboxes.kill', resource, options }, (platform, fetch) =>
    platform.DELETE('/sandboxes/{sandboxID}', { params: { path: { sandboxID } }, fetch }),
  );
}

export async function pauseSandbox(
  core: ClientCore,
  sandboxID: string,
  options: RequestOptions & { memory?: boolean | undefined },
): Promise<boolean> {
  const { memory } = options;
  const context = { operation: 'sandboxes.pause', resource, options };
  try {
    await core.platform.call(context, (platform, fetch) =>
      platform.POST('/sandboxes/{sandboxID}/pause', {
        params: { path: { sandboxID } },
        fetch,
        ...(memory === undefined ? {} : { body: { memory } }),
      }),
    );
    return true;
  } catch (error) {
    if (!ConflictError.is(error)) throw error;
    // 409 also stands for another transition under way; only a paused sandbox makes it a `false`.
    const { detail } = await getSandbox(core, sandboxID, options);
    if (detail.state === 'paused') return false;
    throw error;
  }
}

export async function setSandboxTimeout(
  core: ClientCore,
  sandboxID: string,
  timeoutMs: number,
  options: RequestOptions,
): Promise<void> {
  const context = { operation: 'sandbox.setTimeout', resource, idempotent: true, options };
  const timeout = toSeconds(timeoutMs, 'timeoutMs');
  await core.platform.call(context, (platform, fetch) =>
    platform.POST('/sandboxes/{sandboxID}/timeout', {
      params: { path: { sandboxID } },
      body: { timeout },
      fetch,
    }),
  );
}

export async function refreshSandbox(
  core: ClientCore,
  sandboxID: string,
  durationMs: number | undefined,
  options: RequestOptions,
): Promise<void> {
  const context = { operation: 'sandbox.refresh', resource, idempotent: true, options };
  const body = durationMs === undefined ? undefined : { duration: toSeconds(durationMs, 'durationMs') };
  await core.platform.call(context, (platform, fetch) =>
    platform.POST('/sandboxes/{sandboxID}/refreshes', {
      params: { path: { sandboxID } },
      fetch,
      ...(body === undefined ? {} : { body }),
    }),
  );
}

export async function updateSandboxNetwork(
  core: ClientCore,
  sandboxID: string,
  network: EgressOptions & { allowInternetAccess?: boolean | undefined },
  options: RequestOptions,
): Promise<void> {
  const context = { operation: 'sandbox.updateNetwork', resource, options };
  await core.platform.call(context, (platform, fetch) =>
    platform.PUT('/sandboxes/{sandboxID}/network', {
      params: { path: { sandboxID } },
      body: toNetworkUpdate(network),
      fetch,
    }),
  );
}

export async function createSandboxSnapshot(
  core: ClientCore,
  sandboxID: string,
  options: RequestOptions & { name?: string | undefined; memory?: boolean | undefined },
): Promise<SnapshotInfo> {
  const { name, memory } = options;
  const context = { operation: 'sandbox.createSnapshot', resource, options };
  const data = await core.platform.call(context, (platform, fetch) =>
    platform.POST('/sandboxes/{sandboxID}/snapshots', {
      params: { path: { sandboxID } },
      body: defined({ name, memory }),
      fetch,
    }),
  );
  return fromSnapshot(data);
}

export async function getSandboxMetrics(
  core: ClientCore,
  sandboxID: string,
  options: RequestOptions & { start?: Date | undefined; end?: Date | undefined },
): Promise<SandboxMetrics[]> {
  const { start, end } = options;
  const unix = (date: Date | undefined, round: (value: number) => number) =>
    date && round(date.getTime() / 1000);
  const query = defined({ start: unix(start, Math.floor), end: unix(end, Math.ceil) });
  const data = await core.platform.call(
    { operation: 'sandbox.metrics', resource, options },
    (platform, fetch) =>
      platform.GET('/sandboxes/{sandboxID}/metrics', { params: { path: { sandboxID }, query }, fetch }),
  );
  return data.map(fromMetric);
}

export async function getSandboxEgress(
  core: ClientCore,
  sandboxID: string,
  options: RequestOptions,
): Promise<SandboxEgress> {
  const data = await core.platform.call(
    { operation: 'sandbox.egress', resource, options },
    (platform, fetch) =>
      platform.GET('/sandboxes/{sandboxID}/egress', { params: { path: { sandboxID } }, fetch }),
  );
  return fromEgress(data);
}
