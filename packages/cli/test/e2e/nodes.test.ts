import { afterAll, beforeAll, expect, it } from 'vitest';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { runCli } from '../support/run-cli.js';

let local: LocalServer;
let env: Record<string, string>;
beforeAll(async () => {
  local = await startLocalServer();
  const { operatorUrl = '', operatorToken } = local.server;
  env = { ...local.env, SVC_OPERATOR_URL: operatorUrl, SVC_OPERATOR_TOKEN: operatorToken };
});
afterAll(() => local?.[Symbol.asyncDispose]());

it('lists nodes, and says that a server with a database of its own is the only one', async () => {
  const { nodeId } = local.server.context.config;
  const listed = await runCli(['node', 'list'], { env });
  expect(listed.stdout).toMatch(
    /^ID +STATE +RUNNING +PAUSED +POOL +LOAD +MEMORY FREE +DISK FREE +VERSION +API\n/,
  );
  expect(listed.stdout).toMatch(
    new RegExp(`\n${nodeId} +alive +0/1000 +0 +0 +[\\d.]+/\\d+ +\\d+/\\d+ MiB +\\d+ MiB `),
  );
  const json = JSON.parse((await runCli(['node', 'list', '--json'], { env })).stdout);
  expect(json).toMatchObject([{ nodeId, state: 'alive', drain: 'no', sandboxes: { running: 0, paused: 0 } }]);
  for (const args of [['drain'], ['drain', '--pause'], ['undrain'], ['remove'], ['forget']]) {
    const run = await runCli(['node', args[0]!, nodeId, ...args.slice(1)], { env });
    expect([args, run.code, run.stderr]).toEqual([
      args,
      1,
      expect.stringContaining('there is no other node'),
    ]);
  }
  expect((await runCli(['node', 'drain'], { env })).code).toBe(2);
});
