import { throwUnlessOk } from '../calls/read-answer.js';
import { readText } from '../calls/read-text.js';
import type { RequestOptions } from '../core/call-context.js';
import type { DaemonConnection } from '../daemon/daemon-connection.js';
import type { SandboxMetrics } from './info.js';
import { fromDaemonMetrics } from './wire.js';

/** Returns the sandbox's current use. */
export async function readUsage(
  connection: DaemonConnection,
  options: RequestOptions,
): Promise<SandboxMetrics> {
  return fromDaemonMetrics(await get(connection, 'sandbox.usage', '/metrics', options));
}

/** The variables that every program of the sandbox gets. */
export function readEnvs(
  connection: DaemonConnection,
  options: RequestOptions,
): Promise<Record<string, string>> {
  return get(connection, 'sandbox.envs', '/envs', options);
}

function get<Body>(
  connection: DaemonConnection,
  operation: string,
  path: string,
  options: RequestOptions,
): Promise<Body> {
  const context = { operation, resource: 'sandbox', options } as const;
  return connection.http(context, async (fetch, baseUrl) => {
    const response = await fetch(new Request(`${baseUrl}${path}`));
    await throwUnlessOk(response, { ...context, service: 'sandbox' });
    return JSON.parse(await readText(response, operation)) as Body;
  });
}
