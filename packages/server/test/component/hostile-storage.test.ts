import { tmpdir } from 'node:os';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { describe, expect, it, onTestFinished } from 'vitest';
import { limitOf, tightenVolumes } from '../../src/volumes/store.js';
import { createSandbox, run } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';

const able = linuxDriverCanRun(await checkHost({ dataDir: tmpdir() }));

interface Volume {
  volumeID: string;
  token: string;
}

function put(test: TestServer, volume: Volume, path: string, sizeMiB: number): Promise<Response> {
  return fetch(`${test.server.apiUrl}/volumecontent/${volume.volumeID}/file?path=${path}&force=true`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${volume.token}` },
    body: Buffer.alloc(sizeMiB * 2 ** 20, 1),
  });
}

describe('a team that uses all of its disk', () => {
  it('is refused everything that would take more, with advice', async () => {
    const test = await startTestServer({ teamLimits: { maxStorageMiB: 0 } });
    onTestFinished(() => test[Symbol.asyncDispose]());
    const { id } = await createSandbox(test);
    const refused = [
      await test.api('POST', '/volumes', { name: 'more' }),
      await test.api('POST', `/sandboxes/${id}/snapshots`, { memory: false }),
      await test.api('POST', `/sandboxes/${id}/pause`, { memory: false }),
    ];
    for (const { status, body } of refused) {
      expect(status).toBe(429);
      expect(body.message).toMatch(/storage limit reached \(\d+ of 0 MiB\): delete volumes, snapshots/);
    }
    expect((await test.api('GET', '/volumes')).body).toEqual([]);
    // A sandbox that is not stored continues.
    expect((await test.api('GET', `/sandboxes/${id}`)).body.state).toBe('running');
  });

  it('counts what is paused', async () => {
    const test = await startTestServer({ teamLimits: { maxStorageMiB: 4 } });
    onTestFinished(() => test[Symbol.asyncDispose]());
    const sandbox = await createSandbox(test);
    await run(test, sandbox, 'head -c 6000000 /dev/urandom > data');
    expect((await test.api('POST', `/sandboxes/${sandbox.id}/pause`, { memory: false })).status).toBe(204);
    expect((await test.api('POST', '/volumes', { name: 'more' })).status).toBe(429);
    expect((await test.api('DELETE', `/sandboxes/${sandbox.id}`)).status).toBe(204);
    expect((await test.api('POST', '/volumes', { name: 'more' })).status).toBe(201);
  });
});

describe('a server whose disk has only its reserve free', () => {
  it('takes no builds, and says how much is free', async () => {
    const test = await startTestServer({ diskReserveMiB: 1e9 });
    onTestFinished(() => test[Symbol.asyncDispose]());
    const made = await test.api('POST', '/v3/templates', { name: 'full' });
    expect(made.status).toBe(202);
    const { templateID, buildID } = made.body;
    const started = await test.api('POST', `/v2/templates/${templateID}/builds/${buildID}`, {
      fromTemplate: 'base',
      steps: [],
    });
    expect(started.status).toBe(503);
    expect(started.body.message).toMatch(/disk of the server is full \(only its reserve is free\)/);
    const status = await (await fetch(`${test.server.operatorUrl}/status`)).json();
    expect((status as { disk: object }).disk).toMatchObject({ reserveMiB: 1e9 });
    const metrics = await (await fetch(`${test.server.operatorUrl}/metrics`)).text();
    expect(metrics).toMatch(/^svc_disk_free_bytes \d+$/m);
  });
});

describe('the limit of a volume', () => {
  const limits = { maxStorageMiB: 1_000, maxVolumeMiB: 500 };
  it.each([
    ['is the one for volumes while the team has room', 100, 0, 500],
    ['is what the team has left', 800, 50, 192],
    ['never takes what is stored already', 2_000, 70, 70],
    ['lets an empty one be, without room', 2_000, 0, 1],
  ])('%s', (_, usedMiB, ownMiB, expected) => {
    expect(limitOf(limits, usedMiB, ownMiB)).toBe(expected);
  });
});

describe.skipIf(!able)('a volume that a hostile team fills', () => {
  it('takes no room from the total of the team by being one of several that are filled at once', async () => {
    const limits = { maxStorageMiB: 300, maxVolumeMiB: 200 };
    const test = await startTestServer({ driver: 'linux', poolSize: 0, teamLimits: limits });
    onTestFinished(() => test[Symbol.asyncDispose]());
    const names = ['a', 'b', 'c'];
    const ids: string[] = [];
    for (const name of names) {
      const { status, body } = await test.api('POST', '/volumes', { name });
      expect(status).toBe(201);
      ids.push(body.volumeID);
    }
    const volumeMounts = names.map((name) => ({ name, path: `/${name}` }));
    const sandbox = await createSandbox(test, { volumeMounts });
    const fill = (path: string) => run(test, sandbox, `cat /dev/zero 2>&1 > ${path}; sync; true`);
    expect(await fill('/a/fill')).toMatch(/quota exceeded/i);
    await tightenVolumes(test.server.context);
    await Promise.all([fill('/b/fill'), fill('/c/fill')]);
    await tightenVolumes(test.server.context);
    await Promise.all([fill('/b/more'), fill('/c/more')]);
    const used = await Promise.all(ids.map((id) => test.server.context.volumes.usedBytes(id)));
    // Without it, 600.
    expect(used.reduce((sum, bytes) => sum + bytes, 0) / 2 ** 20).toBeLessThan(350);
  });

  it('is full for the API and for programs, and for nobody else', async () => {
    const test = await startTestServer({ driver: 'linux', poolSize: 0, teamLimits: { maxVolumeMiB: 32 } });
    onTestFinished(() => test[Symbol.asyncDispose]());
    const { body: volume } = await test.api('POST', '/volumes', { name: 'hostile' });
    expect((await put(test, volume, '/first', 8)).status).toBe(201);
    const tooMuch = await put(test, volume, '/second', 64);
    expect(tooMuch.status).toBe(507);
    expect(((await tooMuch.json()) as { code: string }).code).toBe('no_space');
    const mounts = { volumeMounts: [{ name: 'hostile', path: '/data' }] };
    const sandbox = await createSandbox(test, mounts);
    expect(await run(test, sandbox, 'cat /dev/zero 2>&1 > /data/fill; sync; ls /data; true')).toMatch(
      /quota exceeded[\s\S]*first/i,
    );
    const neighbour = await createSandbox(test);
    expect(await run(test, neighbour, 'head -c 5M /dev/urandom > x && sync x && echo durable')).toBe(
      'durable\n',
    );
    expect((await test.api('POST', '/volumes', { name: 'other' })).status).toBe(201);
    expect(await run(test, sandbox, 'rm /data/fill; echo room > /data/note; sync; cat /data/note')).toBe(
      'room\n',
    );
    const read = await fetch(`${test.server.apiUrl}/volumecontent/${volume.volumeID}/file?path=/note`, {
      headers: { Authorization: `Bearer ${volume.token}` },
    });
    expect(await read.text()).toBe('room\n');
    // It outlives the server, with its limit.
    await test.restart();
    const { body: later } = await test.api('GET', `/volumes/${volume.volumeID}`);
    expect((await put(test, later, '/third', 64)).status).toBe(507);
    expect((await put(test, later, '/third', 4)).status).toBe(201);
    expect((await test.api('DELETE', `/volumes/${volume.volumeID}`)).status).toBe(204);
    expect((await test.api('GET', `/volumes/${volume.volumeID}`)).status).toBe(404);
    expect((await test.api('GET', `/sandboxes/${sandbox.id}`)).body.state).toBe('running');
    const { body: fresh } = await test.api('POST', '/volumes', { name: 'hostile' });
    expect((await put(test, fresh, '/first', 20)).status).toBe(201);
  });
});
