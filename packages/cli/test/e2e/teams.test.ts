import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeRunFile } from '../../src/connection/run-file.js';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { runCli } from '../support/run-cli.js';
import { runOf } from '../support/run-of.js';

let local: LocalServer;
/** Of an operator on another machine: everything is said. */
let env: Record<string, string>;
beforeAll(async () => {
  local = await startLocalServer();
  const { operatorUrl = '', operatorToken } = local.server;
  env = { ...local.env, SVC_OPERATOR_URL: operatorUrl, SVC_OPERATOR_TOKEN: operatorToken };
});
afterAll(() => local?.[Symbol.asyncDispose]());

const svc = (args: string[], more: Record<string, string> = {}) => runCli(args, { env: { ...env, ...more } });
const json = async (args: string[]) => {
  const run = await svc([...args, '--json']);
  expect(run).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(run.stdout);
};

it('makes a team, sets what it may use, and goes back to the defaults', async () => {
  const made = await svc(['team', 'create', 'research', '--max-timeout', '1h', '--max-secrets', '3']);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^research {2}[0-9a-f-]{36}\n$/) });
  expect(made.stderr).toBe('Next: svc key create NAME --team research\n');
  expect((await svc(['team', 'create', 'research'])).stderr).toMatch(/slug 'research' is taken/);
  const shown = await svc(['team', 'get', 'research']);
  expect(shown.stdout).toMatch(/Standing +active/);
  expect(shown.stdout).toMatch(/Longest run +1h \(own\)/);
  expect(shown.stdout).toMatch(/Secrets +0 of 3 \(own\)/);
  expect(shown.stdout).toMatch(/Memory in all +0 MiB, no limit\n/);
  expect(shown.stdout).toMatch(/Egress this month +0 MiB, no limit\n/);
  expect(shown.stdout).toMatch(/Storage +0 of 102400 MiB\n/);
  const args = [
    '--max-secrets',
    'default',
    '--max-memory',
    '512',
    '--max-total-memory',
    '4096',
    '--max-egress',
    '1024',
    '--max-storage',
    '2048',
    '--egress-proxy',
    'on',
    '--name',
    'R & D',
  ];
  expect(await json(['team', 'update', 'research', ...args])).toMatchObject({
    name: 'R & D',
    ownLimits: ['maxTimeoutMs', 'maxMemoryMiB', 'maxTotalMemoryMiB', 'maxStorageMiB', 'maxEgressMonthMiB'],
    limits: { maxTotalMemoryMiB: 4096, maxStorageMiB: 2048, maxEgressMonthMiB: 1024 },
    features: { egressProxy: true },
  });
  const limited = (await svc(['team', 'get', 'research'])).stdout;
  expect(limited).toMatch(/Memory in all +0 of 4096 MiB \(own\)\n/);
  expect(limited).toMatch(/Egress this month +0 of 1024 MiB \(own\)\n/);
  expect((await svc(['team', 'list'])).stdout).toMatch(/research +R & D +\S+ +\S+ ago +active/);
  for (const wrong of [[], ['--max-secrets', '-1'], ['--max-timeout', 'long'], ['--egress-proxy', 'yes']])
    expect((await svc(['team', 'update', 'research', ...wrong])).code).toBe(2);
});

it('shows what a team used, hour by hour', async () => {
  await svc(['team', 'create', 'busy']);
  expect((await svc(['team', 'usage', 'busy'])).stderr).toBe('Nothing was used.\n');
  const { key } = await json(['key', 'create', 'first', '--team', 'busy']);
  const asTeam = (args: string[]) => svc(args, { SVC_API_KEY: key });
  const made = JSON.parse((await asTeam(['sandbox', 'create', '--json'])).stdout);
  expect((await asTeam(['sandbox', 'kill', made.sandboxId])).code).toBe(0);
  const table = (await svc(['team', 'usage', 'busy', '--since', '2d'])).stdout;
  expect(table).toMatch(/^HOUR +SANDBOX TIME +GIB-HOURS +EGRESS +CREATES\n/);
  expect(table).toMatch(/\ntotal +\S+.* 1\n$/);
  const [hour] = await json(['team', 'usage', 'busy']);
  expect(hour).toMatchObject({ creates: 1, egressBytes: 0 });
  expect((await svc(['team', 'usage', 'nobody'])).stderr).toMatch(/no team 'nobody'/);
});

it('rotates a key: both work for a while, and the list says which one goes', async () => {
  await svc(['team', 'create', 'turning']);
  const old = await json(['key', 'create', 'first', '--team', 'turning', '--expires', '90d']);
  const rotated = await svc(['key', 'rotate', old.apiKeyId, '--overlap', '1h']);
  expect(rotated).toMatchObject({ code: 0, stdout: expect.stringMatching(/^svc_[0-9a-f]+\n$/) });
  expect(rotated.stderr).toMatch(/The old key stops working in 1h at the latest\./);
  for (const key of [old.key, rotated.stdout.trim()])
    expect((await svc(['secret', 'list'], { SVC_API_KEY: key })).code).toBe(0);
  const listed = (await svc(['key', 'list', '--team', 'turning'])).stdout;
  expect(listed).toMatch(/^NAME .* EXPIRES\n/);
  expect(listed).toMatch(/in (1h|59m.*), rotated\n/);
  expect(listed).toMatch(/ never\n/);
  expect((await svc(['key', 'rotate', old.apiKeyId])).stderr).toMatch(/rotated already: its successor is /);
  const cut = await json(['key', 'create', 'second', '--team', 'turning']);
  await svc(['key', 'rotate', cut.apiKeyId, '--overlap', '0']);
  const refused = await svc(['secret', 'list'], { SVC_API_KEY: cut.key });
  expect(refused.stderr).toMatch(/expired at .*: use its successor, or make a new key/);
  for (const wrong of [
    ['--overlap', 'long'],
    ['--expires', 'then'],
    ['--expires', '2020-01-01T00:00:00Z'],
  ])
    expect((await svc(['key', 'rotate', old.apiKeyId, ...wrong])).code, wrong.join(' ')).toBe(2);
});

it('bans and blocks a team, and lets it in again', async () => {
  await svc(['team', 'create', 'shut']);
  const key = (await svc(['key', 'create', 'first', '--team', 'shut'])).stdout.trim();
  expect(key).toMatch(/^svc_/);
  const asTeam = (args: string[]) => svc(args, { SVC_API_KEY: key });
  expect((await svc(['team', 'ban', 'shut'])).stdout).toBe('shut is banned\n');
  expect((await asTeam(['secret', 'list'])).stderr).toMatch(/banned/);
  expect((await svc(['team', 'unban', 'shut'])).stdout).toBe('shut is active\n');
  const blocked = await svc(['team', 'block', 'shut', '--reason', 'the invoice is open']);
  expect(blocked.stdout).toBe('shut is blocked: the invoice is open\n');
  expect((await asTeam(['secret', 'list'])).code).toBe(0);
  expect((await asTeam(['volume', 'create', 'data'])).stderr).toMatch(/the invoice is open/);
  expect((await svc(['team', 'unblock', 'shut'])).stdout).toBe('shut is active\n');
  expect((await svc(['team', 'get', 'nobody'])).stderr).toMatch(/no team 'nobody'/);
});

it('keeps the keys of the own team, and shows each once', async () => {
  const made = await json(['key', 'create', 'build server']);
  const listed = await svc(['key', 'list']);
  expect(listed.stdout).toMatch(
    new RegExp(`build server +${made.apiKeyId} +svc_\\w\\w\\.\\.\\.\\w{4} .*never`),
  );
  expect(listed.stdout).not.toContain(made.key);
  expect((await svc(['key', 'delete', made.apiKeyId])).stdout).toBe(`Deleted ${made.apiKeyId}\n`);
  expect(await svc(['key', 'delete', made.apiKeyId])).toMatchObject({ code: 1 });
});

it('finds port and token of the server of this machine, names it, and sends the token nowhere else', async () => {
  const dataDir = join(local.home, 'data');
  const { operatorUrl, apiUrl, sandboxUrl } = local.server;
  await writeRunFile(runOf(dataDir, { operatorUrl: String(operatorUrl), apiUrl, sandboxUrl }));
  const here = { HOME: local.home, SVC_DATA_DIR: dataDir };
  const banned = await runCli(['team', 'ban', 'default'], { env: here });
  expect(banned).toMatchObject({ code: 0, stdout: 'default is banned\n' });
  expect(banned.stderr).toContain(
    `On the operator port ${operatorUrl} (server of this machine, ${dataDir}):`,
  );
  expect((await runCli(['team', 'unban', 'default'], { env: here })).code).toBe(0);
  const other = await runCli(['team', 'list'], { env: { ...here, SVC_OPERATOR_URL: 'http://127.0.0.1:9' } });
  expect(other).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/no operator token for http:\/\/127/),
  });
  const empty = join(local.home, 'empty');
  await mkdir(empty);
  const nowhere = await runCli(['team', 'list'], { env: { HOME: empty, SVC_DATA_DIR: empty } });
  expect(nowhere.stderr).toMatch(/SVC_OPERATOR_URL and SVC_OPERATOR_TOKEN/);
});
