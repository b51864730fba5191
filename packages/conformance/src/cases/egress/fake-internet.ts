import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type Seen, WORLD } from '@svc/runtime/testing';
import { type Covers, check, type Draft } from '../../case.js';
import type { EgressServer, TestSandbox } from '../../targets/target.js';
import { type Api, callOk } from '../../wire/call.js';
import { run as runInside } from '../../wire/run.js';

export { WORLD };

type Create = (body?: Record<string, unknown>, api?: Api) => Promise<ReturnType<typeof egressSandbox>>;

/**
 * A case in sandboxes of a server in the fake internet, which end with it. Its time is for starting that, and programs
 * there.
 */
export function egressCase(
  name: string,
  [operation, expects, { needs = [] } = {}]: Covers,
  run: (create: Create, server: EgressServer) => Promise<unknown>,
): Draft {
  const conditions = { needs: ['internet', ...needs] } as const;
  return check(name, [operation, expects, conditions], async (target) => {
    const server = await target.egressServer();
    const ends: (() => Promise<unknown>)[] = [];
    await run(async (body, api = server) => {
      const sandbox = egressSandbox(server, await server.newSandbox(body, api), api);
      ends.push(async () => await callOk(api, 'killSandbox', 204, sandbox.request));
      return sandbox;
    }, server);
    for (const end of ends) await end();
  });
}

/** A sandbox, and what programs in it get of the fake internet. */
export function egressSandbox(server: EgressServer, sandbox: TestSandbox, api: Api = server) {
  const request = { path: { sandboxID: sandbox.sandboxId } };
  /** The status of the answer, or `no`. */
  const status = async (url: string) => {
    const { stdout } = await runInside(
      sandbox,
      `curl -s -m 20 -o /dev/null -w '%{http_code}' '${url}' > /tmp/status || echo no > /tmp/status; cat /tmp/status`,
    );
    return stdout.trim();
  };
  return {
    ...sandbox,
    request,
    status,
    /** The headers with which the world saw one request, to a host that nobody else asks for. */
    async headers(url: string) {
      const host = new URL(url).host;
      const before = seenOf(server, host).length;
      assert.equal(await status(url), '200', url);
      const seen = seenOf(server, host).slice(before);
      assert.equal(seen.length, 1, `one request for ${host}`);
      return seen[0]!.headers as Record<string, string>;
    },
    async setNetwork(body: Record<string, unknown>) {
      await callOk(api, 'updateSandboxNetwork', 204, { ...request, body });
    },
  };
}

/** Nothing, unless it is allowed. */
export const CLOSED = { denyOut: ['0.0.0.0/0'] };

/** A name that leads to the first host of the world and that no other case asks for. */
export const ownName = () => `c${randomBytes(6).toString('hex')}.one.test`;

/** Returns the requests that a host of the fake internet saw: of a web server by its name, of a proxy by its targets. */
export function seenOf({ internet }: EgressServer, host: string): Seen[] {
  return internet.seen.filter((seen) => {
    const headers = seen.headers as Record<string, string> | undefined;
    return seen.host === host || headers?.host === host;
  });
}
