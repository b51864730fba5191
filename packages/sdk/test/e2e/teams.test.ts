import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '@svc/server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  AuthenticationError,
  Client,
  ConflictError,
  NotFoundError,
  PermissionError,
} from '../../src/index.js';
import { OperatorClient } from '../../src/operator.js';

let directory: string;
let server: Awaited<ReturnType<typeof startServer>>;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-teams-'));
  server = await startServer({
    dataDir: directory,
    driver: 'process',
    apiPort: 0,
    sandboxPort: 0,
    operatorPort: 0,
    logLevel: 'error',
    poolSize: 0,
    rateLimits: { general: { rate: 0, burst: 1 }, create: { rate: 5, burst: 1 } },
    destroySandboxesOnStop: true,
  });
});
afterAll(async () => {
  await server?.stop({ destroySandboxes: true });
  await rm(directory, { recursive: true, force: true });
});

const operatorClient = (options: { token?: string } = {}) =>
  new OperatorClient({
    operatorUrl: server.operatorUrl,
    token: server.operatorToken,
    logLevel: 'off',
    ...options,
  });
const clientWith = (apiKey: string) =>
  new Client({ apiUrl: server.apiUrl, sandboxUrl: server.sandboxUrl, apiKey, logLevel: 'off' });

it('keeps the keys of the team: made, listed without their value, deleted', async () => {
  const client = clientWith(server.apiKey);
  const made = await client.apiKeys.create('build server');
  expect(made.key).toMatch(/^svc_[0-9a-f]{40}$/);
  expect((await clientWith(made.key).team()).slug).toBe('default');
  const listed = await client.apiKeys.list();
  expect(listed.map(({ name }) => name)).toEqual(['default', 'build server']);
  expect(listed[1]).toMatchObject({ apiKeyId: made.apiKeyId, masked: made.masked });
  expect(JSON.stringify(listed)).not.toContain(made.key);
  await expect(client.apiKeys.delete(made.key)).rejects.toThrow(/named by its apiKeyId.*not by the key/);
  expect(await client.apiKeys.delete(made.apiKeyId)).toBe(true);
  expect(await client.apiKeys.delete(made.apiKeyId)).toBe(false);
  await expect(clientWith(made.key).team()).rejects.toSatisfy((error) => AuthenticationError.is(error));
});

it('makes a team with a key, sets what it may use, and shuts it out', async () => {
  const { teams } = operatorClient();
  const team = await teams.create({ slug: 'research', limits: { maxTimeoutMs: 60_500 } });
  expect(team).toMatchObject({
    name: 'research',
    ownLimits: ['maxTimeoutMs'],
    banned: false,
    blockedReason: undefined,
  });
  expect(team.limits.maxTimeoutMs).toBe(61_000);
  const { key, apiKeyId } = await teams.keys.create('research', 'notebooks');
  const client = clientWith(key);
  expect((await client.team()).limits).toEqual(team.limits);
  await expect(client.sandboxes.create({ timeoutMs: 62_000 })).rejects.toMatchObject({ status: 400 });
  const changed = await teams.update(team.teamId, {
    name: 'Research',
    limits: { maxTimeoutMs: null, maxMemoryMiB: 512 },
    features: { egressProxy: true },
  });
  expect(changed).toMatchObject({
    name: 'Research',
    ownLimits: ['maxMemoryMiB'],
    features: { egressProxy: true },
  });
  expect((await client.team()).limits).toMatchObject({ maxTimeoutMs: 86_400_000, maxMemoryMiB: 512 });

  await teams.block('research', { reason: 'the invoice is open' });
  expect(await client.sandboxes.list().toArray()).toEqual([]);
  await expect(client.sandboxes.create()).rejects.toThrow(/the invoice is open/);
  expect(await teams.unblock('research')).toMatchObject({ blocked: false, blockedReason: undefined });
  await teams.ban('research');
  await expect(client.team()).rejects.toSatisfy((error) => PermissionError.is(error));
  await teams.unban('research');
  expect((await client.team()).name).toBe('Research');

  expect((await teams.keys.list('research')).map(({ name }) => name)).toEqual(['notebooks']);
  expect(await teams.keys.delete('research', apiKeyId)).toBe(true);
  expect(await teams.keys.delete('research', apiKeyId)).toBe(false);
  await expect(client.team()).rejects.toSatisfy((error) => AuthenticationError.is(error));
});

it('lists teams page by page, and reports what is missing or taken', async () => {
  const { teams } = operatorClient();
  await teams.create({ slug: 'second' });
  const slugs = (await teams.list({ limit: 1 }).toArray()).map(({ slug }) => slug);
  expect(slugs[0]).toBe('default');
  expect(slugs).toContain('second');
  await expect(teams.create({ slug: 'second' })).rejects.toSatisfy((error) => ConflictError.is(error));
  await expect(teams.get('nobody')).rejects.toSatisfy((error) => NotFoundError.is(error));
  await expect(teams.keys.list('nobody')).rejects.toThrow(/there is no team 'nobody'/);
});

it('takes the operator token alone, and says where it stands', async () => {
  await expect(operatorClient({ token: server.apiKey }).teams.get('default')).rejects.toThrow(
    /SVC_OPERATOR_TOKEN: it stands in operator-token/,
  );
  await expect(new OperatorClient({ operatorUrl: server.operatorUrl }).teams.get('default')).rejects.toThrow(
    /no operator token/,
  );
  await expect(clientWith(server.operatorToken).team()).rejects.toMatchObject({ status: 401 });
});

it('makes many sandboxes at once past the rate of creates, without an error', async () => {
  const client = clientWith(server.apiKey);
  const made = await Promise.all(Array.from({ length: 8 }, () => client.sandboxes.create()));
  expect(new Set(made.map(({ id }) => id)).size).toBe(8);
  await Promise.all(made.map((sandbox) => sandbox.kill()));
});
