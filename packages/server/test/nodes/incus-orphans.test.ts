import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '#support/eventually';
import { clearLost } from '../../src/cluster/fleet/clear-lost.js';
import type { ChildServer } from '../support/child-server.js';
import { type IncusFixture, startIncusFixture } from '../support/incus-fixture.js';
import { operate } from '../support/operate.js';
import { run } from '../support/sandboxes.js';
import type { TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';
import { type Created, ended } from '../support/templates.js';

// Members unpack whole images.
vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

const able = process.getuid?.() === 0 && process.env.SVC_HEAVY === '1';

interface Made {
  name: string;
  config: Record<string, string>;
}

/** The first one is killed and does not come back; the second one is in this process. */
describe.skipIf(dialect === 'sqlite' || !able)('what a lost server left on an Incus cluster', () => {
  let fixture: IncusFixture;
  let first: ChildServer;
  let second: TestServer;
  let firstId: string;
  beforeAll(async () => {
    fixture = await startIncusFixture({ poolSize: 1 });
    ({ first, second } = fixture);
    // Its instances stay there: the first server gets the sandboxes of the tests.
    second.server.context.fleet.places = () => Promise.resolve([]);
    const ownId = second.server.context.config.nodeId;
    const nodes = await second.server.context.db.selectFrom('nodes').select('id').execute();
    firstId = nodes.find(({ id }) => id !== ownId)!.id;
  });
  afterAll(() => fixture?.close());

  const askFirst = async (method: string, target: string, body?: object) => {
    const response = await fetch(`${first.apiUrl}${target}`, {
      method,
      headers: { 'X-API-Key': second.server.apiKey, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.ok, `${method} ${target}: ${response.status} ${text}`).toBe(true);
    return text === '' ? undefined : JSON.parse(text);
  };
  const list = async <T>(what: string): Promise<T[]> => {
    const text = await new Promise<string>((resolve, reject) => {
      const target = `/1.0/${what}?recursion=1&project=svc`;
      const call = request({ socketPath: fixture.socket, path: target }, async (response) => {
        let read = '';
        for await (const chunk of response.setEncoding('utf8')) read += chunk as string;
        resolve(read);
      });
      call.on('error', reject).end();
    });
    return (JSON.parse(text) as { metadata: T[] }).metadata;
  };
  const volumes = () => list<Made>('storage-pools/svc/volumes/custom');
  /** Resources that one server made and gave to nobody. */
  const ungiven = async (holder: string) =>
    (await list<Made>('instances'))
      .filter(({ config }) => config['user.svc.owner'] === holder)
      .map(({ config }) => config['user.svc.state'])
      .filter((state) => state === 'pooled' || state === 'volume-agent')
      .sort();
  const layersOf = async (holder: string) =>
    (await list<{ properties: Record<string, string> }>('images')).filter(
      ({ properties }) => properties['svc.owner'] === holder && properties['svc.layer'] !== undefined,
    ).length;
  const build = async (name: string): Promise<Created> => {
    const made = (await askFirst('POST', '/v3/templates', { name })) as Created;
    await askFirst('POST', `/v2/templates/${made.templateID}/builds/${made.buildID}`, {
      fromTemplate: 'base',
      steps: [{ type: 'RUN', args: [`echo ${name} > /home/user/note`] }],
    });
    expect(await ended(second, made, 800_000)).toMatchObject({ status: 'ready' });
    return made;
  };
  const makeVolume = async (name: string) => {
    const { volumeID: id, token } = await askFirst('POST', '/volumes', { name });
    const written = await fetch(`${first.apiUrl}/volumecontent/${id}/file?path=/note`, {
      method: 'PUT',
      body: name,
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(written.status).toBe(201);
    return { id: id as string, token: token as string };
  };
  const create = async (body: object) => {
    const made = await second.api('POST', '/v2/sandboxes', { timeout: 3_600, ...body });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    return { id: made.body.sandboxID as string, token: made.body.envdAccessToken as string };
  };

  it('is removed by another one, but for what anybody has or may still use', async () => {
    const { db } = second.server.context;
    const reportOf = async () => {
      const row = await db.selectFrom('nodes').select('report').where('id', '=', firstId).executeTakeFirst();
      return JSON.parse((row?.report as string | null) ?? '{}') as {
        clusterHolder?: string;
        pooled?: number;
      };
    };
    await eventually('the pool is full', async () => (await reportOf()).pooled === 1, 800_000);
    const holder = (await reportOf()).clusterHolder!;
    const [kept, deleted] = [await build('kept'), await build('deleted')];
    const mounted = [{ name: 'waiting', path: '/data' }];
    const [used, waiting] = [await makeVolume('used'), await makeVolume('waiting')];
    const inside = await create({ templateID: 'base', volumeMounts: mounted });
    await askFirst('DELETE', `/volumes/${waiting.id}`);
    // An agent of the volume that stays, whatever was idle meanwhile.
    const read = await fetch(`${first.apiUrl}/volumecontent/${used.id}/file?path=/note`, {
      headers: { Authorization: `Bearer ${used.token}` },
    });
    expect(await read.text()).toBe('used');
    await first.kill();
    expect(await ungiven(holder)).toEqual(expect.arrayContaining(['pooled', 'volume-agent']));
    const before = await layersOf(holder);
    expect(before).toBeGreaterThanOrEqual(2);

    await db.updateTable('nodes').set({ heartbeat_at: 1 }).where('id', '=', firstId).execute();
    expect((await second.api('DELETE', `/templates/${deleted.templateID}`)).status).toBe(204);
    await clearLost(second.server.context);
    expect(await ungiven(holder)).toEqual([]);
    // Resources that may still be used belong to the finder from then on.
    const finder = second.server.context.driver.shared!.holder;
    expect(await layersOf(holder)).toBe(0);
    expect(await layersOf(finder)).toBeGreaterThan(0);
    expect(await layersOf(finder)).toBeLessThan(before);
    // A sandbox has it: it is removed after that.
    expect((await volumes()).map(({ name }) => name).sort()).toEqual(
      [`svc-${used.id}`, `svc-${waiting.id}`].sort(),
    );
    expect(await run(second, inside, 'cat /data/note')).toBe('waiting');
    const copy = await create({ templateID: 'kept', volumeMounts: [{ name: 'used', path: '/data' }] });
    expect(await run(second, copy, 'cat /home/user/note /data/note')).toBe('kept\nused');
    for (const { id } of [inside, copy])
      expect((await second.api('DELETE', `/sandboxes/${id}`)).status).toBe(204);
    await eventually(
      'the volume that waited is gone',
      async () => (await volumes()).every(({ name }) => name === `svc-${used.id}`),
      300_000,
    );

    const forgotten = await operate(second.server, 'POST', `/nodes/${firstId}/forget`);
    expect(forgotten).toMatchObject({ status: 200, body: { builds: 0, volumes: 0 } });
    expect((await second.api('DELETE', `/volumes/${used.id}`)).status).toBe(204);
    expect(await volumes()).toEqual([]);
    await second.restart();
    const later = await create({ templateID: 'kept' });
    expect(await run(second, later, 'cat /home/user/note')).toBe('kept\n');
    expect((await second.api('DELETE', `/sandboxes/${later.id}`)).status).toBe(204);
    expect((await second.api('DELETE', `/templates/${kept.templateID}`)).status).toBe(204);
    await eventually('its images are deleted', async () => (await layersOf(finder)) === 0, 300_000);
  });
});
