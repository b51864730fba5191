import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type Seen, WORLD } from '@svc/runtime/testing';
import type { Draft } from '../../case.js';
import type { PlayedServer, TestSandbox } from '../../targets/target.js';
import { assertStatus, call } from '../../wire/call.js';
import { run as runInside } from '../../wire/run.js';

export { WORLD };

/** A case on a server in the played internet; its time is for starting that, a sandbox in it and programs there. */
export function played(draft: Omit<Draft, 'run'> & { run(server: PlayedServer): Promise<unknown> }): Draft {
  const { needs = [], run, ...rest } = draft;
  return {
    ...rest,
    needs: ['internet', ...needs],
    timeoutMs: 240_000,
    run: async (target) => run(await target.played()),
  };
}

/** Nothing, unless it is allowed. */
export const CLOSED = { denyOut: ['0.0.0.0/0'] };

/** A name that leads to the first host of the world and that no other case asks for. */
export const ownName = () => `c${randomBytes(6).toString('hex')}.one.test`;

/** What a request from inside gives: the status of the answer, or `no`. */
export async function statusInside(sandbox: TestSandbox, url: string): Promise<string> {
  const { stdout } = await runInside(
    sandbox,
    `curl -s -m 20 -o /dev/null -w '%{http_code}' '${url}' > /tmp/status || echo no > /tmp/status; cat /tmp/status`,
  );
  return stdout.trim();
}

/** What the world saw of a host: of a web server by its name, of a proxy by what it was asked for. */
export function seenOf({ internet }: PlayedServer, host: string): Seen[] {
  return internet.seen.filter((seen) => {
    const headers = seen.headers as Record<string, string> | undefined;
    return seen.host === host || headers?.host === host;
  });
}

export async function updateNetwork(
  server: PlayedServer,
  { sandboxId }: TestSandbox,
  body: Record<string, unknown>,
  key?: string,
): Promise<void> {
  const answer = await call(server, 'updateSandboxNetwork', {
    path: { sandboxID: sandboxId },
    body,
    ...(key === undefined ? {} : { key }),
  });
  assertStatus(answer, 204);
}

export async function end(server: PlayedServer, { sandboxId }: TestSandbox, key?: string): Promise<void> {
  const path = { sandboxID: sandboxId };
  const answer = await call(server, 'killSandbox', { path, ...(key === undefined ? {} : { key }) });
  assertStatus(answer, 204);
}

/** The world's web servers answer with what they were asked. */
export async function headersOf(
  server: PlayedServer,
  sandbox: TestSandbox,
  url: string,
): Promise<Record<string, string>> {
  const host = new URL(url).host;
  const before = seenOf(server, host).length;
  assert.equal(await statusInside(sandbox, url), '200', url);
  const seen = seenOf(server, host).slice(before);
  assert.equal(seen.length, 1, `one request for ${host}`);
  return seen[0]!.headers as Record<string, string>;
}
