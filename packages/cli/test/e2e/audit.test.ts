import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { type ProcessOptions, runCli, runProcess } from '../support/run-cli.js';

let local: LocalServer;
let env: Record<string, string>;
beforeAll(async () => {
  local = await startLocalServer();
  const { operatorUrl = '', operatorToken } = local.server;
  env = { ...local.env, SVC_OPERATOR_URL: operatorUrl, SVC_OPERATOR_TOKEN: operatorToken };
});
afterAll(() => local?.[Symbol.asyncDispose]());

const svc = (args: string[], more: Parameters<typeof runCli>[1] = {}) => runCli(args, { env, ...more });
const svcProcess = (args: string[], options: ProcessOptions) => runProcess(args, { env, ...options });
const lines = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

it('shows who did what as a table, and as a line of JSON each', async () => {
  expect((await svc(['team', 'create', 'research'])).code).toBe(0);
  expect((await svc(['team', 'create', 'research'])).code).toBe(1);
  expect((await svc(['key', 'create', 'first', '--team', 'research'])).code).toBe(0);
  await local.server.context.audit.flush();
  const table = (await svc(['audit'])).stdout;
  expect(table).toMatch(/^TIME +WHO +WHAT +RESOURCE +TEAM +OUTCOME +FROM +REQUEST\n/);
  expect(table).toMatch(
    /operator +createTeamApiKey +key [0-9a-f-]{36} +[0-9a-f-]{36} +succeeded 201 +127\.0\.0\.1/,
  );
  const refused = await svc(['audit', '--outcome', 'refused', '--json']);
  expect(lines(refused.stdout)).toMatchObject([
    { operation: 'createTeam', actor: { kind: 'operator' }, outcome: 'refused', status: 409 },
  ]);
  const all = lines((await svc(['audit', '--all', '--json', '--since', '1h'])).stdout);
  expect(all.map(({ operation }) => operation)).toEqual(['createTeam', 'createTeam', 'createTeamApiKey']);
  const ofTeam = lines((await svc(['audit', '--team', 'research', '--json'])).stdout);
  expect(ofTeam.map(({ operation }) => operation)).toEqual(['createTeamApiKey']);
  expect((await svc(['audit', '--actor', 'system'])).stderr).toBe('No entries.\n');
  expect((await svc(['audit', '--team', 'nobody'])).stderr).toMatch(/no team 'nobody'/);
  for (const wrong of [
    ['--since', 'then'],
    ['--outcome', 'odd'],
    ['-n', '0'],
    ['--follow', '--all'],
  ])
    expect((await svc(['audit', ...wrong])).code, wrong.join(' ')).toBe(2);
});

it('follows what is done until Ctrl+C', async () => {
  const run = await svcProcess(['audit', '--follow', '--json', '--operation', 'updateTeam'], {
    timeoutMs: 240_000,
    started: async (child, output) => {
      let n = 0;
      // The first ones may be done before it looks.
      await eventually('a followed entry', async () => {
        await svc(['team', 'update', 'research', '--name', `Name ${++n}`]);
        return output().includes('updateTeam');
      });
      child.kill('SIGINT');
    },
  });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  const shown = lines(run.stdout);
  expect(shown[0]).toMatchObject({
    operation: 'updateTeam',
    resource: { kind: 'team', id: 'research' },
    status: 200,
  });
  expect(new Set(shown.map(({ entryId }) => entryId)).size).toBe(shown.length);
});
