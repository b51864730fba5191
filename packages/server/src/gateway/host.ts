import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

export interface TargetOptions {
  /** Hosts without port, lower case, on which the routing headers are required. */
  sandboxHosts: readonly string[];
  /** Prefixes of routing headers in the order in which they are tried, lower case, each with its final dash. */
  headerPrefixes: readonly string[];
}

export type TargetRefusal = 'missing_header' | 'invalid_host' | 'invalid_sandbox_id' | 'invalid_port';

/** The sandbox and port of a request, or the reason why they are unknown. */
export type Target =
  | { kind: 'target'; sandboxId: string; port: number }
  | { kind: 'refused'; reason: TargetRefusal };

/** Takes the port and a final dot off a Host value. Returns lower case; `''` for what is no host. */
export function hostName(host: string | undefined): string {
  const match = /^(\[[0-9a-f:.]+\]|[^:@/\\?#\s]*)(?::\d*)?$/i.exec(host ?? '');
  return (match?.[1] ?? '').toLowerCase().replace(/\.$/, '');
}

function honoursHeaders(name: string, options: TargetOptions): boolean {
  if (name === 'localhost' || options.sandboxHosts.includes(name)) return true;
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0) return true;
  return name.startsWith('sandbox.') && name.length > 'sandbox.'.length;
}

function routingHeaders(
  headers: IncomingHttpHeaders,
  options: TargetOptions,
): (string | undefined)[] | undefined {
  for (const prefix of options.headerPrefixes) {
    const id = headers[`${prefix}sandbox-id`];
    const port = headers[`${prefix}sandbox-port`];
    if (id === undefined && port === undefined) continue;
    return [id?.toString(), port?.toString()];
  }
  return undefined;
}

function checked(sandboxId: string, portText: string): Target {
  if (!/^[a-z0-9]+$/.test(sandboxId)) return { kind: 'refused', reason: 'invalid_sandbox_id' };
  const port = /^\d{1,9}$/.test(portText) ? Number(portText) : 0;
  if (port < 1 || port > 65_535) return { kind: 'refused', reason: 'invalid_port' };
  return { kind: 'target', sandboxId, port };
}

/** Decides which sandbox and port a request means. Headers count only on hosts that are not a sandbox's own. */
export function resolveTarget(
  host: string | undefined,
  headers: IncomingHttpHeaders,
  options: TargetOptions,
): Target {
  const name = hostName(host);
  if (honoursHeaders(name, options)) {
    const [id, port] = routingHeaders(headers, options) ?? [];
    if (id !== undefined && port !== undefined) return checked(id, port);
    const required = options.sandboxHosts.includes(name);
    if (id !== undefined || port !== undefined || required) {
      return { kind: 'refused', reason: 'missing_header' };
    }
  }
  const dot = name.indexOf('.');
  const [port, sandboxId] = dot > 0 ? name.slice(0, dot).split('-') : [];
  if (port === undefined || sandboxId === undefined || isIP(name) !== 0) {
    return { kind: 'refused', reason: 'invalid_host' };
  }
  return checked(sandboxId, port);
}
