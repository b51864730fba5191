import type { Capability } from '../capability.js';
import { hasTemplates } from './embedded.js';
import { SandboxPool } from './sandboxes.js';
import type { Target } from './target.js';

/**
 * A service that runs somewhere: `SVC_CONFORMANCE_API_URL`, `SVC_CONFORMANCE_SANDBOX_URL`, `SVC_CONFORMANCE_API_KEY`.
 * Its features beyond the ordinary come from `SVC_CONFORMANCE_CAPABILITIES` (comma list), its template from
 * `SVC_CONFORMANCE_TEMPLATE` (default `base`), the domain of its ports by `SVC_CONFORMANCE_DOMAIN`.
 * Undefined when no URL is given.
 */
export async function openUrlTarget(env: NodeJS.ProcessEnv): Promise<Target | undefined> {
  const apiUrl = env.SVC_CONFORMANCE_API_URL;
  const sandboxUrl = env.SVC_CONFORMANCE_SANDBOX_URL;
  const apiKey = env.SVC_CONFORMANCE_API_KEY;
  if (apiUrl === undefined || sandboxUrl === undefined || apiKey === undefined) return undefined;
  const told = (env.SVC_CONFORMANCE_CAPABILITIES ?? '')
    .split(',')
    .filter((one) => one !== '') as Capability[];
  const template = env.SVC_CONFORMANCE_TEMPLATE ?? 'base';
  const api = { apiUrl: apiUrl.replace(/\/$/, ''), apiKey };
  const pool = new SandboxPool(api, sandboxUrl.replace(/\/$/, ''), template);
  const capabilities = new Set(told);
  if (await hasTemplates(api)) capabilities.add('templates');
  const lacks = (what: string) => () => Promise.reject(new Error(`this target has no ${what}`));
  return {
    name: 'url',
    ...api,
    sandboxUrl: sandboxUrl.replace(/\/$/, ''),
    domain: env.SVC_CONFORMANCE_DOMAIN,
    template,
    capabilities,
    sandbox: () => pool.shared(),
    newSandbox: (options, from) => pool.create(options, from),
    team: lacks('teams to make'),
    server: lacks('servers to start'),
    egressServer: lacks('fake internet'),
    close: () => pool.clear(),
  };
}
