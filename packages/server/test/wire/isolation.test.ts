import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { daemonProgram } from '@svc/envd';
import type { Driver, Instance, Isolation } from '@svc/runtime/contract';
import { createProcessDriver } from '@svc/runtime/process';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ServerOptions } from '../../src/index.js';
import { startTestServer, type TestServer } from '../support/server.js';

/** The process driver with what a driver with tiers shows of them. */
async function createTieredDriver(dataDir: string): Promise<Driver> {
  const behind = await createProcessDriver({ dataDir, daemon: daemonProgram });
  const bound = (target: object, name: PropertyKey): unknown => {
    const value = Reflect.get(target, name, target) as unknown;
    return typeof value === 'function' ? value.bind(target) : value;
  };
  const tiered = (instance: Instance, isolation: Isolation) =>
    new Proxy(instance, { get: (target, name) => (name === 'isolation' ? isolation : bound(target, name)) });
  const create: Driver['create'] = async ({ spec: { isolation = 'container', ...spec }, ...options }) =>
    tiered(await behind.create({ ...options, spec }), isolation);
  const restore: Driver['restore'] = async ({ spec: { isolation = 'container', ...spec }, ...options }) =>
    tiered(await behind.restore({ ...options, spec }), isolation);
  return new Proxy(behind, {
    get: (target, name) => (name === 'create' ? create : name === 'restore' ? restore : bound(target, name)),
  });
}

async function start(options: Partial<ServerOptions>, tiered: boolean): Promise<TestServer> {
  const directory = await mkdtemp(path.join(tmpdir(), 'svc-isolation-'));
  const driver = tiered ? await createTieredDriver(directory) : undefined;
  const test = await startTestServer({ ...(driver === undefined ? {} : { driver }), ...options });
  onTestFinished(async () => {
    await test[Symbol.asyncDispose]();
    await driver?.close({ destroyInstances: true });
    await rm(directory, { recursive: true, force: true });
  });
  return test;
}

describe('isolation', () => {
  it('is shown of each sandbox, and asked for by template', async () => {
    const test = await start({ templateIsolation: { base: 'gvisor' } }, true);
    const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
    const at = `/sandboxes/${made.body.sandboxID}`;
    expect(await test.api('GET', at)).toMatchObject({ status: 200, body: { isolation: 'gvisor' } });
    // A sandbox keeps its isolation when the settings differ at its next start.
    (test.server.context.config.templateIsolation as Record<string, Isolation>).base = 'container';
    expect((await test.api('POST', `${at}/pause`, { memory: false })).status).toBe(204);
    expect((await test.api('POST', `${at}/resume`, {})).status).toBe(201);
    expect((await test.api('GET', at)).body.isolation).toBe('gvisor');
  });

  it('is never less than what is asked for: a driver that cannot give it refuses', async () => {
    const test = await start({ templateIsolation: { base: 'gvisor' } }, false);
    const refused = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
    expect(refused.status).toBe(503);
    expect(refused.body.message).toContain('The process driver cannot isolate a sandbox.');
  });

  it('of plain processes is reported as none', async () => {
    const test = await start({}, false);
    const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
    expect((await test.api('GET', `/sandboxes/${made.body.sandboxID}`)).body.isolation).toBe('none');
  });
});
