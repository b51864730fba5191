import type { components } from '@svc/daemon';
import type {
  ConnectRequestV2,
  ListedSandbox,
  NewSandboxV2,
  ResumeRequest,
  SandboxLogEntry,
  SandboxMetric,
  SandboxNetworkConfig,
  SandboxNetworkUpdate,
  SandboxDetail as WireDetail,
  SandboxEgress as WireEgress,
  Sandbox as WireSandbox,
} from '@svc/platform';
import { encodeMetadataFilter } from '@svc/platform';
import { defined, toSeconds } from '../core/wire-values.js';
import type { DaemonTarget } from '../daemon/target.js';
import { InvalidRequestError } from '../errors/answer-errors.js';
import type { LogEntry, SandboxDetail, SandboxEgress, SandboxInfo, SandboxMetrics } from './info.js';
import type {
  ConnectSandboxOptions,
  CreateSandboxOptions,
  EgressOptions,
  EgressProxy,
  ListSandboxesOptions,
  NetworkOptions,
  NetworkRule,
} from './options.js';

/** The body of a create request. It holds only what the caller gave, and the template. */
export function toCreateBody(options: CreateSandboxOptions): NewSandboxV2 {
  const {
    template = 'base',
    timeoutMs,
    envs,
    metadata,
    iam,
    mcp,
    network,
    allowInternetAccess,
    volumeMounts,
  } = options;
  return defined({
    templateID: template,
    timeout: timeoutMs === undefined ? undefined : toSeconds(timeoutMs, 'timeoutMs'),
    ...toLifecycle(options),
    allow_internet_access: allowInternetAccess,
    network: network && toNetwork(network),
    metadata,
    envVars: envs,
    iam: iam && defined(iam),
    mcp,
    volumeMounts:
      volumeMounts &&
      Object.entries(volumeMounts).map(([path, volume]) => ({
        path,
        name: typeof volume === 'string' ? volume : volume.name,
      })),
  });
}

function toLifecycle({ autoPause, lifecycle }: CreateSandboxOptions) {
  const onTimeout = lifecycle?.onTimeout;
  const pause = onTimeout === undefined ? autoPause : onTimeout === 'pause';
  if (autoPause !== undefined && pause !== autoPause) {
    throw new InvalidRequestError(
      `autoPause: ${autoPause} contradicts lifecycle.onTimeout: '${onTimeout}'. Leave one out.`,
    );
  }
  const { keepMemory, autoResume } = lifecycle ?? {};
  if (keepMemory === false && pause !== true) {
    throw new InvalidRequestError("lifecycle.keepMemory: false needs lifecycle.onTimeout: 'pause'.");
  }
  if (autoResume && (pause !== true || keepMemory === false)) {
    throw new InvalidRequestError(
      "lifecycle.autoResume needs lifecycle.onTimeout: 'pause' and the memory kept.",
    );
  }
  return {
    autoPause: pause,
    autoPauseMemory: keepMemory,
    autoResume: autoResume === undefined ? undefined : { enabled: autoResume },
  };
}

/** Network settings of a new sandbox. */
export function toNetwork(network: NetworkOptions): SandboxNetworkConfig {
  return defined({
    ...network,
    egressProxy: network.egressProxy && toProxy(network.egressProxy),
    rules: network.rules && toRules(network.rules),
  });
}

function toProxy({ tls, ...proxy }: EgressProxy) {
  return defined({ ...proxy, tls: tls && defined(tls) });
}

function toRules(rules: Record<string, NetworkRule[]>) {
  return Object.fromEntries(Object.entries(rules).map(([host, list]) => [host, list.map(defined)]));
}

/** The body of a network update: replaces all of it, so what is absent is cleared. */
export function toNetworkUpdate(
  options: EgressOptions & { allowInternetAccess?: boolean | undefined },
): SandboxNetworkUpdate {
  const { allowInternetAccess, allowOut, denyOut, egressProxy, rules } = options;
  return defined({
    allow_internet_access: allowInternetAccess,
    allowOut,
    denyOut,
    egressProxy: egressProxy && toProxy(egressProxy),
    rules: rules && toRules(rules),
  });
}

/** The body of a connect request; undefined when nothing was said. */
export function toConnectBody(options: ConnectSandboxOptions): ConnectRequestV2 | undefined {
  const body = defined(toTimeAndMemory(options));
  return Object.keys(body).length === 0 ? undefined : body;
}

/** The body of a resume request. */
export function toResumeBody(options: ConnectSandboxOptions): ResumeRequest {
  return defined({ ...toTimeAndMemory(options), autoPause: options.autoPause });
}

function toTimeAndMemory({ timeoutMs, memory }: ConnectSandboxOptions) {
  return { timeout: timeoutMs === undefined ? undefined : toSeconds(timeoutMs, 'timeoutMs'), memory };
}

/** The query of a list. */
export function toListQuery(options: ListSandboxesOptions, token: string | undefined) {
  const { state, metadata, template, startedAfter, order, limit } = options;
  return defined({
    state: state === undefined ? undefined : typeof state === 'string' ? [state] : [...state],
    metadata: metadata && encodeMetadataFilter(metadata),
    template,
    startedAfter: startedAfter?.toISOString(),
    order,
    limit,
    nextToken: token,
  });
}

/** Returns the facts for reaching a sandbox. */
export function fromSandbox(sandbox: WireSandbox | WireDetail): DaemonTarget & { templateId: string } {
  return {
    sandboxId: sandbox.sandboxID,
    templateId: sandbox.templateID,
    envdVersion: sandbox.envdVersion,
    accessToken: sandbox.envdAccessToken,
    trafficToken: sandbox.trafficAccessToken ?? undefined,
    domain: sandbox.domain || undefined,
  };
}

/** One item of a list. */
export function fromListed(sandbox: ListedSandbox): SandboxInfo {
  return {
    sandboxId: sandbox.sandboxID,
    templateId: sandbox.templateID,
    alias: sandbox.alias,
    state: sandbox.state,
    startedAt: new Date(sandbox.startedAt),
    endAt: new Date(sandbox.endAt),
    cpuCount: sandbox.cpuCount,
    memoryMiB: sandbox.memoryMB,
    diskMiB: sandbox.diskSizeMB,
    forkedFrom: sandbox.forkedFrom,
    envdVersion: sandbox.envdVersion,
    metadata: sandbox.metadata ?? {},
    volumeMounts: Object.fromEntries((sandbox.volumeMounts ?? []).map(({ path, name }) => [path, name])),
  };
}

/** Everything about one sandbox. */
export function fromDetail(sandbox: WireDetail): SandboxDetail {
  const { autoResume, onTimeout } = sandbox.lifecycle;
  return {
    ...fromListed(sandbox),
    lifecycle: { autoResume, onTimeout },
    isolation: sandbox.isolation,
    allowInternetAccess: sandbox.allowInternetAccess ?? undefined,
    network: sandbox.network as NetworkOptions | undefined,
    domain: sandbox.domain || undefined,
  };
}

/** One sample. */
export function fromMetric(metric: Omit<SandboxMetric, 'timestamp'>): SandboxMetrics {
  return {
    timestamp: new Date(metric.timestampUnix * 1000),
    cpuCount: metric.cpuCount,
    cpuUsedPercent: metric.cpuUsedPct,
    memoryUsedBytes: metric.memUsed,
    memoryTotalBytes: metric.memTotal,
    memoryCacheBytes: metric.memCache,
    diskUsedBytes: metric.diskUsed,
    diskTotalBytes: metric.diskTotal,
  };
}

/** The sample that the daemon takes when it is asked. */
export function fromDaemonMetrics(metrics: components['schemas']['DaemonMetrics']): SandboxMetrics {
  return fromMetric({
    timestampUnix: metrics.ts,
    cpuCount: metrics.cpu_count,
    cpuUsedPct: metrics.cpu_used_pct,
    memUsed: metrics.mem_used,
    memTotal: metrics.mem_total,
    memCache: metrics.mem_cache,
    diskUsed: metrics.disk_used,
    diskTotal: metrics.disk_total,
  });
}

/** One log entry. */
export function fromLogEntry(entry: SandboxLogEntry): LogEntry {
  return {
    timestamp: new Date(entry.timestamp),
    level: entry.level,
    message: entry.message,
    fields: entry.fields,
  };
}

/** Returns the traffic that left a sandbox. */
export function fromEgress({ totals, destinations, dropped }: WireEgress): SandboxEgress {
  return {
    totals,
    destinations: destinations.map((destination) => ({
      ...destination,
      host: destination.host,
      address: destination.address,
      lastAt: new Date(destination.lastAt),
    })),
    dropped,
  };
}
