import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { daemonProgram } from '@svc/envd';
import { type Driver, DriverError, type Instance } from '@svc/runtime/contract';
import { createProcessDriver } from '@svc/runtime/process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '#support/eventually';
import { configOf } from '../../src/sandboxes/state/config.js';
import { toJson } from '../../src/storage/json.js';
import { startTestServer, type TestServer } from '../support/server.js';

/**
 * The process driver as one that can shut a sandbox off the network and decides nothing by policy. `modes`: what it was asked for.
 * @param problem why its machine cannot all the same, from some moment on.
 * @param adoptedEnds when an instance that was adopted ends by itself.
 */
async function start(
  modes?: string[],
  problem: () => string | undefined = () => undefined,
  adoptedEnds: Promise<{ reason: 'exited' }> = new Promise(() => {}),
): Promise<TestServer> {
  const directory = await mkdtemp(path.join(tmpdir(), 'svc-network-'));
  const behind = await createProcessDriver({ dataDir: directory, daemon: daemonProgram });
  const over = <T extends object>(target: T, own: Partial<T>): T =>
    new Proxy(target, {
      get(_, name) {
        if (Object.hasOwn(own, name)) return Reflect.get(own, name) as unknown;
        const value = Reflect.get(target, name, target) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const able = (instance: Instance, own: Partial<Instance> = {}) =>
    over<Instance>(instance, {
      ...own,
      setNetwork: async ({ egress }) => {
        modes!.push(egress);
        const message = problem();
        if (message !== undefined) throw new DriverError('unsupported', message);
      },
    });
  const driver =
    modes === undefined
      ? behind
      : over<Driver>(behind, {
          capabilities: { ...behind.capabilities, networkIsolation: true },
          create: async ({ spec, ...rest }) =>
            able(await behind.create({ ...rest, spec: { ...spec, network: { egress: 'internet' } } })),
          adopt: async (id) => {
            const adopted = await behind.adopt(id);
            return adopted === undefined ? undefined : able(adopted, { ended: adoptedEnds });
          },
        });
  const test = await startTestServer({ driver });
  onTestFinished(async () => {
    await test[Symbol.asyncDispose]();
    await driver.close({ destroyInstances: true });
    await rm(directory, { recursive: true, force: true });
  });
  return test;
}

const create = (test: TestServer, more = {}) =>
  test.api('POST', '/v2/sandboxes', { templateID: 'base', ...more });

describe('network settings of a sandbox that runs', () => {
  it.each([
    [{ allow_internet_access: false }, 'internet access cannot be switched off'],
    [{ denyOut: ['192.0.2.0/24'] }, 'network.denyOut is refused'],
    [{ allowOut: ['example.com'], denyOut: ['0.0.0.0/0'] }, 'network.allowOut is refused'],
  ])('are refused as at its creation where the driver cannot enforce them: %j', async (settings, message) => {
    const test = await start();
    const { allow_internet_access, ...network } = settings as Record<string, unknown>;
    const refused = await create(test, { allow_internet_access, network });
    expect(refused).toMatchObject({ status: 400, body: { message: expect.stringContaining(message) } });
    const at = `/sandboxes/${(await create(test)).body.sandboxID}`;
    const before = (await test.api('GET', at)).body;
    expect(await test.api('PUT', `${at}/network`, settings)).toMatchObject({
      status: 400,
      body: refused.body,
    });
    expect((await test.api('GET', at)).body).toEqual(before);
  });

  it('shut it off, and let it out again, with a driver that can do that alone', async () => {
    const modes: string[] = [];
    const test = await start(modes);
    const at = `/sandboxes/${(await create(test)).body.sandboxID}`;
    modes.length = 0;
    expect((await test.api('PUT', `${at}/network`, { allow_internet_access: false })).status).toBe(204);
    expect((await test.api('PUT', `${at}/network`, {})).status).toBe(204);
    expect(modes).toEqual(['none', 'internet']);
    const refused = await test.api('PUT', `${at}/network`, { denyOut: ['192.0.2.0/24'] });
    expect(refused).toMatchObject({ status: 400, body: { message: expect.stringContaining('denyOut') } });
    expect(modes).toHaveLength(2);
  });

  it('are said not to be in force where the machine of the sandbox cannot keep it from the network', async () => {
    const modes: string[] = [];
    let problem: string | undefined;
    const test = await start(modes, () => problem);
    const at = `/sandboxes/${(await create(test)).body.sandboxID}`;
    problem = 'its machine has no fence.';
    expect(await test.api('PUT', `${at}/network`, { allow_internet_access: false })).toMatchObject({
      status: 503,
      body: {
        message:
          'the network settings are stored, but not in force yet, which is tried again: its machine has no fence.',
      },
    });
    problem = undefined;
    expect((await test.api('PUT', `${at}/network`, { allow_internet_access: false })).status).toBe(204);
    expect(modes.slice(-2)).toEqual(['none', 'none']);
  });

  it('that could not be put in force are what counts, and come into force as soon as that is possible', async () => {
    const modes: string[] = [];
    let problem: string | undefined;
    const test = await start(modes, () => problem);
    const at = `/sandboxes/${(await create(test)).body.sandboxID}`;
    problem = 'its machine has no fence.';
    expect((await test.api('PUT', `${at}/network`, { allow_internet_access: false })).status).toBe(503);
    expect((await test.api('GET', at)).body).toMatchObject({ allowInternetAccess: false });
    // Repeated failures wait ever longer: the delay does not begin anew.
    const { retries } = test.server.context;
    const added: string[] = [];
    const add = retries.add.bind(retries);
    retries.add = (key, ...rest) => {
      added.push(key);
      add(key, ...rest);
    };
    const failed = modes.length;
    await eventually('it is tried again', () => modes.length > failed);
    await eventually('and again', () => modes.length > failed + 1);
    expect(added).toEqual([]);
    problem = undefined;
    await eventually('nothing is left to do', () => test.server.context.retries.size === 0);
    expect(modes.at(-1)).toBe('none');
    // Nothing goes on trying for a sandbox that has ended.
    problem = 'its machine has no fence.';
    expect((await test.api('PUT', `${at}/network`, {})).status).toBe(503);
    expect((await test.api('DELETE', at)).status).toBe(204);
    await eventually('nothing is left to do', () => test.server.context.retries.size === 0);
  });

  it('that could not be put in force come into force after a restart of the server', async () => {
    const modes: string[] = [];
    let problem: string | undefined;
    let end = () => {};
    const ended = new Promise<{ reason: 'exited' }>((resolve) => {
      end = () => resolve({ reason: 'exited' });
    });
    const test = await start(modes, () => problem, ended);
    const at = `/sandboxes/${(await create(test)).body.sandboxID}`;
    problem = 'its machine has no fence.';
    expect((await test.api('PUT', `${at}/network`, { allow_internet_access: false })).status).toBe(503);
    await test.restart();
    const failed = modes.length;
    await eventually('it is tried again', () => modes.length > failed);
    problem = undefined;
    await eventually('nothing is left to do', () => test.server.context.retries.size === 0);
    expect(modes.at(-1)).toBe('none');
    expect((await test.api('GET', at)).body).toMatchObject({ state: 'running' });
    // It is watched like any other one.
    end();
    await eventually('its end is noticed', async () => (await test.api('GET', at)).status === 404);
  });

  it('that an earlier version stored and nobody can read keep that sandbox alone from the network, by name', async () => {
    const modes: string[] = [];
    const test = await start(modes);
    const [bad, good] = [await create(test), await create(test)].map(({ body }) => body.sandboxID as string);
    const { db } = test.server.context;
    const row = await db.selectFrom('sandboxes').selectAll().where('id', '=', bad!).executeTakeFirstOrThrow();
    const config = toJson({ ...configOf(row), network: { allowOut: ['2001:db8::/032'] } });
    await db.updateTable('sandboxes').set({ config }).where('id', '=', bad!).execute();
    modes.length = 0;
    await test.restart();
    expect(modes.sort()).toEqual(['internet', 'none']);
    const problems = async () => (await (await fetch(`${test.server.operatorUrl}/status`)).json()).problems;
    expect(await problems()).toEqual([
      expect.stringContaining(`sandbox ${bad} sends nothing: network.allowOut`),
    ]);
    const logOf = async (id: string) =>
      JSON.stringify((await test.api('GET', `/v2/sandboxes/${id}/logs`)).body);
    await eventually('its owner is informed', async () => (await logOf(bad!)).includes('2001:db8::/032'));
    expect(await logOf(good!)).not.toContain('cannot be read');
    expect((await test.api('PUT', `/sandboxes/${bad}/network`, {})).status).toBe(204);
    expect(modes.at(-1)).toBe('internet');
    expect(await problems()).toBeUndefined();
  });
});
