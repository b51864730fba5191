import type { OperationId } from './operations.js';

/** Where the callers of deprecated operations should go. */
const SUCCESSORS: Readonly<Record<string, string>> = {
  listSandboxes: '/v2/sandboxes',
  createSandbox: '/v2/sandboxes',
  resumeSandbox: '/v2/sandboxes/{sandboxID}/connect',
  connectSandbox: '/v2/sandboxes/{sandboxID}/connect',
  getSandboxLogs: '/v2/sandboxes/{sandboxID}/logs',
  listTemplates: '/v2/templates',
  updateTemplate: '/v2/templates/{templateID}',
} satisfies Partial<Record<OperationId, string>>;

/** Headers of every answer of a deprecated operation (RFC 9745, RFC 8288). */
export function deprecationHeaders(
  operationId: string,
  params: Record<string, string>,
): Record<string, string> {
  const successor = SUCCESSORS[operationId];
  if (successor === undefined) return { Deprecation: 'true' };
  const target = successor.replaceAll(/\{([^}]+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  return { Deprecation: 'true', Link: `<${target}>; rel="successor-version"` };
}
