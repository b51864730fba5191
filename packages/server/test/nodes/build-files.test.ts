import { access, readdir } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { failLostBuilds } from '../../src/cluster/fleet/lost-builds.js';
import { startFakeNode } from '../support/fake-node.js';
import { run } from '../support/sandboxes.js';
import { secondTeam } from '../support/second-team.js';
import type { TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';
import { type SharedServers, startSharedServers } from '../support/shared-servers.js';
import { type Created, sha256, tarGzOf } from '../support/templates.js';

describe.skipIf(dialect === 'sqlite')('files for templates, with two servers', () => {
  let first: TestServer;
  let second: TestServer;
  let shared: SharedServers;
  beforeAll(async () => {
    shared = await startSharedServers(2);
    [first, second] = shared.servers as [TestServer, TestServer];
  });
  afterAll(async () => shared?.[Symbol.asyncDispose]());

  const ask = (server: TestServer, method: string, target: string, body?: unknown) =>
    shared.ask(server, method, target, body);
  const create = async (name: string): Promise<Created> => {
    const made = await ask(first, 'POST', '/v3/templates', { name });
    expect(made.status).toBe(202);
    return made.body as Created;
  };
  const link = (server: TestServer, { templateID }: Created, hash: string) =>
    ask(server, 'GET', `/templates/${templateID}/files/${hash}`);
  /** Sends files to a server by the link of another one, as a balancer does. */
  const upload = async (to: TestServer, url: string, archive: Buffer) => {
    const target = to.server.apiUrl + new URL(url).pathname;
    expect((await fetch(target, { method: 'PUT', body: new Uint8Array(archive) })).status).toBe(204);
  };
  const copyStep = (hash: string) => ({ type: 'COPY', args: ['.', 'app/'], filesHash: hash });
  const start = async (on: TestServer, { templateID, buildID }: Created, steps: object[]) => {
    const target = `/v2/templates/${templateID}/builds/${buildID}`;
    expect(await ask(on, 'POST', target, { fromTemplate: 'base', steps })).toMatchObject({ status: 202 });
  };
  const ended = ({ templateID, buildID }: Created) =>
    eventually('the build has ended', async () => {
      const { body } = await ask(second, 'GET', `/templates/${templateID}/builds/${buildID}/status`);
      return body.status === 'ready' || body.status === 'error' ? body : undefined;
    });
  const filesOf = ({ server }: TestServer, { templateID }: Created) =>
    path.join(server.context.config.dataDir, 'builds', 'files', templateID);
  const isThere = (file: string) =>
    access(file).then(
      () => true,
      () => false,
    );
  const idOf = ({ server }: TestServer) => server.context.config.nodeId;

  it('are found by a build whichever server gave the link, took them and builds, and go with the template', async () => {
    const template = await create('anywhere');
    const archive = await tarGzOf([{ name: 'note.txt', content: 'from afar' }]);
    const hash = sha256(archive);
    const given = await link(first, template, hash);
    expect(given.body.present).toBe(false);
    await upload(second, given.body.url, archive);
    expect((await link(first, template, hash)).body).toEqual({ present: true });
    expect(await isThere(filesOf(first, template))).toBe(false);
    await start(first, template, [copyStep(hash)]);
    expect(await ended(template)).toMatchObject({ status: 'ready' });
    expect(await readdir(filesOf(first, template))).toEqual([`${hash}.tar.gz`]);
    const sandbox = await shared.createOn(first, { templateID: template.templateID });
    expect(await run(first, sandbox, 'cat app/note.txt')).toBe('from afar');
    expect((await ask(first, 'DELETE', `/sandboxes/${sandbox.id}`)).status).toBe(204);

    const layers = () => first.server.context.driver.layers.list();
    expect(await layers()).toHaveLength(1);
    // The server that did not build it: what the other one has must go too.
    expect((await ask(second, 'DELETE', `/templates/${template.templateID}`)).status).toBe(204);
    await eventually('nothing is left', async () => {
      const left = await Promise.all([first, second].map((server) => isThere(filesOf(server, template))));
      return !left.includes(true) && (await layers()).length === 0;
    });
  });

  it('are those of one template: another team finds nothing under the same hash', async () => {
    const template = await create('mine');
    const archive = await tarGzOf([{ name: 'secret', content: 'mine' }]);
    const hash = sha256(archive);
    await upload(second, (await link(first, template, hash)).body.url, archive);
    const { headers: other } = await secondTeam(first, 'others');
    const theirs = await first.api('POST', '/v3/templates', { name: 'theirs' }, other);
    expect(theirs.status).toBe(202);
    const asked = await first.api('GET', `/templates/${template.templateID}/files/${hash}`, undefined, other);
    expect(asked.status).toBe(404);
    const own = await first.api(
      'GET',
      `/templates/${theirs.body.templateID}/files/${hash}`,
      undefined,
      other,
    );
    expect(own.body.present).toBe(false);
  });

  it('are given to other servers alone', async () => {
    const template = await create('asked');
    const archive = await tarGzOf([{ name: 'a', content: 'a' }]);
    const hash = sha256(archive);
    await upload(second, (await link(second, template, hash)).body.url, archive);
    const target = `/node/files/${template.templateID}/${hash}`;
    expect((await ask(second, 'GET', target)).status).toBe(404);
    const { forwarder } = first.server.context.copies;
    const node = (await first.server.context.nodes.findAlive(idOf(second)))!;
    const get = async (url: string) => {
      const answer = await forwarder.open(node, { method: 'GET', url, signal: AbortSignal.timeout(60_000) });
      answer.resume();
      return answer.statusCode;
    };
    expect(await get(target)).toBe(200);
    for (const bad of [
      `/node/files/..%2F..%2Fserver/${hash}`,
      `/node/files/${template.templateID}/..%2F${hash}`,
    ])
      expect(await get(bad)).toBe(404);
  });

  const honest = () => tarGzOf([{ name: 'a', content: 'what was uploaded' }]);
  const lies: [string, (response: ServerResponse) => void][] = [
    ['that they are not there', (response) => void response.writeHead(404).end()],
    ['other files', async (response) => void response.end(await tarGzOf([{ name: 'a', content: 'forged' }]))],
    ['half of them', async (response) => void response.end((await honest()).subarray(0, 20))],
    [
      'more than was uploaded',
      async (response) => void response.end(Buffer.concat([await honest(), Buffer.alloc(5_000_000)])),
    ],
    [
      'a part, and breaks off',
      async (response) => {
        response.writeHead(200, { 'content-length': 1_000 });
        response.write((await honest()).subarray(0, 20), () => response.destroy());
      },
    ],
    ['nothing at all', () => {}],
  ];
  it.each(lies)(
    'fail the build that needs them when the server that has them says %s',
    async (_what, answer) => {
      const template = await create('lied-to');
      const archive = await honest();
      const hash = sha256(archive);
      const { db } = first.server.context;
      await using liar = await startFakeNode(db, `liar-${template.buildID}`, answer);
      const place = { node_id: liar.id, digest: hash, size_bytes: archive.length, created_at: 0 };
      await db
        .insertInto('build_files')
        .values({ template_id: template.templateID, hash, ...place })
        .execute();
      expect((await link(first, template, hash)).body).toEqual({ present: true });
      await start(first, template, [copyStep(hash)]);
      expect(await ended(template)).toMatchObject({
        status: 'error',
        reason: { message: expect.stringMatching(/does not give them: upload them again/), step: '1' },
      });
      expect(liar.requests.map(({ url }) => url)).toEqual([`/node/files/${template.templateID}/${hash}`]);
      expect(liar.requests[0]?.headers).not.toHaveProperty('x-api-key');
      expect(await readdir(filesOf(first, template)).catch(() => [])).toEqual([]);
      expect((await ask(first, 'DELETE', `/templates/${template.templateID}`)).status).toBe(204);
    },
  );

  it('are asked for anew once the server that has them is lost, and a build fails that needs them', async () => {
    const template = await create('lost');
    const { db } = first.server.context;
    const hash = 'a'.repeat(64);
    const place = { node_id: 'no-node', digest: hash, size_bytes: 10, created_at: 0 };
    await db
      .insertInto('build_files')
      .values({ template_id: template.templateID, hash, ...place })
      .execute();
    expect((await link(first, template, hash)).body.present).toBe(false);
    await start(first, template, [copyStep(hash)]);
    expect(await ended(template)).toMatchObject({
      status: 'error',
      reason: { message: expect.stringMatching(/upload them again/) },
    });
  });

  it('end their build on one server when the template is deleted on another', async () => {
    const template = await create('deleted-early');
    await start(first, template, [{ type: 'RUN', args: ['sleep 3600'] }]);
    expect(first.server.context.builds.ids).toEqual([template.buildID]);
    expect((await ask(second, 'DELETE', `/templates/${template.templateID}`)).status).toBe(204);
    await eventually('it ends', () => first.server.context.builds.size === 0);
  });

  it('end the builds of a server that is lost, and of no other', async () => {
    const [lost, alive] = [await create('of-the-lost'), await create('of-the-living')];
    const { context } = second.server;
    await using node = await startFakeNode(context.db, 'living');
    for (const [{ buildID }, nodeId] of [
      [lost, 'no-node'],
      [alive, node.id],
    ] as const)
      await context.db
        .updateTable('template_builds')
        .set({ status: 'building', node_id: nodeId })
        .where('id', '=', buildID)
        .execute();
    await failLostBuilds(context);
    expect(await ended(lost)).toMatchObject({
      status: 'error',
      reason: { message: 'the server that built it was lost: start the build again' },
    });
    const { body } = await ask(first, 'GET', `/templates/${alive.templateID}/builds/${alive.buildID}/status`);
    expect(body.status).toBe('building');
  });
});
