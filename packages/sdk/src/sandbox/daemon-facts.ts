import type { components } from '@svc/daemon';
import { errorFromAnswer } from '../core/errors/from-answer.js';
import type { RequestOptions } from '../core/pipeline/call-context.js';
import type { DaemonConnection } from '../daemon/daemon-connection.js';
import type { SandboxMetrics } from './info.js';

/** What the sandbox uses now. */
export async function readUsage(
  connection: DaemonConnection,
  options: RequestOptions,
): Promise<SandboxMetrics> {
  const told = (await get(
    connection,
    'sandbox.usage',
    '/metrics',
    options,
  )) as components['schemas']['DaemonMetrics'];
  return {
    timestamp: new Date(told.ts * 1000),
    cpuCount: told.cpu_count,
    cpuUsedPercent: told.cpu_used_pct,
    memoryUsedBytes: told.mem_used,
    memoryTotalBytes: told.mem_total,
    memoryCacheBytes: told.mem_cache,
    diskUsedBytes: told.disk_used,
    diskTotalBytes: told.disk_total,
  };
}

/** The variables that every program of the sandbox gets. */
export async function readEnvs(
  connection: DaemonConnection,
  options: RequestOptions,
): Promise<Record<string, string>> {
  return (await get(connection, 'sandbox.envs', '/envs', options)) as Record<string, string>;
}

function get(
  connection: DaemonConnection,
  operation: string,
  path: string,
  options: RequestOptions,
): Promise<unknown> {
  const context = { operation, resource: 'sandbox', options } as const;
  return connection.http(context, async (fetch, baseUrl) => {
    const response = await fetch(new Request(`${baseUrl}${path}`));
    const body: unknown = await response.json().catch(() => undefined);
    if (response.ok) return body;
    const { status, headers } = response;
    throw errorFromAnswer({ ...context, status, headers, body, service: 'sandbox', nowMs: Date.now() });
  });
}
