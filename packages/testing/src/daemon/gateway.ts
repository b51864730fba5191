import { type components, defaultDaemonPort } from '@svc/daemon';
import { json } from '../answers/refusal.js';
import type { TestSandbox } from '../sandboxes/test-sandbox.js';

/** Which sandbox and port a request means, or why that is unknown; undefined: it is none for a sandbox. */
export type Target =
  | { kind: 'sandbox'; sandboxId: string; port: number }
  | { kind: 'refused'; response: Response };

/** Answers for a port of a sandbox: a server that runs inside. */
export type PortHandler = (request: Request, sandbox: TestSandbox) => Response | Promise<Response>;

const closedRoutes = new Set([
  '/init',
  '/freeze',
  '/unfreeze',
  '/fsfreeze',
  '/fsthaw',
  '/collapse',
  '/upgrade',
  '/logs',
]);

/** Reads the target of a request. Headers count on hosts that are not a sandbox's own. */
export function targetOf(url: URL, headers: Headers): Target | undefined {
  const id = headers.get('Svc-Sandbox-Id');
  const port = headers.get('Svc-Sandbox-Port');
  const own = /^(\d+)-([^.-]+)\./.exec(url.hostname);
  if (own) return checked(own[2] as string, own[1] as string);
  if (id !== null && port !== null) return checked(id, port);
  if (id !== null || port !== null || url.hostname.startsWith('sandbox.'))
    return refusedText('missing header');
  return undefined;
}

function checked(sandboxId: string, portText: string): Target {
  if (!/^[a-z0-9]+$/.test(sandboxId)) return refusedText('Invalid sandbox ID');
  const port = /^\d{1,9}$/.test(portText) ? Number(portText) : 0;
  if (port < 1 || port > 65_535) return refusedText('Invalid sandbox port');
  return { kind: 'sandbox', sandboxId, port };
}

function refusedText(message: string): Target {
  const headers = { 'Content-Type': 'text/plain; charset=utf-8', ...gatewayHeaders };
  return { kind: 'refused', response: new Response(`${message}\n`, { status: 400, headers }) };
}

const gatewayHeaders = { 'Access-Control-Allow-Origin': '*', 'X-Content-Type-Options': 'nosniff' };

type GatewayError = components['schemas']['GatewayError'];

/** An answer of the gateway's own about a sandbox. */
export function gatewayAnswer(
  code: number,
  sandboxId: string,
  message: string,
  more: Partial<GatewayError> = {},
) {
  const record: GatewayError = { sandboxId, message, code, ...more };
  return json(code, record, gatewayHeaders);
}

/**
 * Decides whether a request may go to its sandbox, and wakes that where it is set to be woken. Gives the answer where it
 * may not.
 */
export function admit(
  sandbox: TestSandbox | undefined,
  { sandboxId, port }: { sandboxId: string; port: number },
  url: URL,
  headers: Headers,
): { sandbox: TestSandbox } | { response: Response } {
  const toDaemon = port === defaultDaemonPort;
  const no = (code: number, message: string, more?: Partial<GatewayError>) => ({
    response: gatewayAnswer(code, sandboxId, message, more),
  });
  if (toDaemon && closedRoutes.has(url.pathname)) return no(404, 'Not found');
  if (!sandbox) return no(502, 'The sandbox was not found');
  if (sandbox.state === 'paused' && !sandbox.settings.autoResume) return no(502, 'The sandbox was not found');
  if (!toDaemon && sandbox.settings.network?.allowPublicTraffic === false) {
    const token = headers.get('Svc-Traffic-Access-Token');
    if (token !== sandbox.trafficToken)
      return no(
        403,
        `The port is private: the svc-traffic-access-token header is ${token === null ? 'missing' : 'wrong'}`,
      );
  }
  if (sandbox.state === 'paused') {
    if (toDaemon && headers.get('X-Access-Token') !== sandbox.accessToken)
      return no(403, 'The X-Access-Token header is missing or wrong');
    sandbox.resume(sandbox.timeoutMs, true);
  }
  return { sandbox };
}
