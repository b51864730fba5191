import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateRefusal } from '../../src/cluster/nodes/node-unreachable.js';
import { openPostgres } from '../../src/storage/postgres.js';
import type { Database } from '../../src/storage/schema.js';
import { type ChildServer, childEnvironment, startChildServer } from '../support/child-server.js';
import { startFakeNode } from '../support/fake-node.js';
import { childStorage, dialect, dropSchema } from '../support/server-storage.js';
import { type Authority, makeAuthority, writeCertificate } from '../tls/made-certificate.js';

/** Processes of their own: Node reads `NODE_EXTRA_CA_CERTS` when it starts. */
describe.skipIf(dialect === 'sqlite')('two servers with certificates of an authority of their own', () => {
  let directory: string;
  let schema: string | undefined;
  let authority: Authority;
  let db: Database;
  let apiKey: string;
  /** With the process driver a service of this machine is one inside each sandbox. */
  let service: Server;
  const servers: ChildServer[] = [];

  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'svc-https-'));
    authority = await makeAuthority();
    const trusted = path.join(directory, 'authority.pem');
    await writeFile(trusted, authority.certificate);
    const stored = await childStorage();
    schema = stored.schema;
    const serverKey = randomBytes(32).toString('hex');
    for (const name of ['first', 'second']) {
      const dataDir = await mkdtemp(path.join(directory, `${name}-`));
      const files = await writeCertificate(dataDir, await authority.issue());
      servers.push(
        await startChildServer({
          ...childEnvironment(dataDir, 'process'),
          SVC_POSTGRES_URL: stored.url!,
          SVC_SERVER_KEY: serverKey,
          SVC_TLS_CERTIFICATE: files.certificate,
          SVC_TLS_KEY: files.key,
          NODE_EXTRA_CA_CERTS: trusted,
        }),
      );
      if (name === 'first')
        ({ apiKey } = JSON.parse(await readFile(path.join(dataDir, 'credentials.json'), 'utf8')));
    }
    db = await openPostgres(process.env.SVC_TEST_POSTGRES_URL!, { schema: schema! });
    service = createServer(async (req, res) => {
      res.write('begun ');
      for await (const chunk of req) res.write(String(chunk).toUpperCase());
      res.end();
    });
    service.on('upgrade', (_req, socket) => {
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
      socket.pipe(socket);
    });
    service.listen(0, '127.0.0.1');
    await once(service, 'listening');
  });
  afterAll(async () => {
    for (const server of servers) await server.stop();
    await db?.destroy();
    service?.closeAllConnections();
    service?.close();
    await dropSchema(schema);
    await rm(directory, { recursive: true, force: true });
  });

  const open = (url: string, method: string, headers: Record<string, string>) =>
    https.request(url, { method, ca: authority.certificate, agent: false, headers });
  const answerTo = async (request: ReturnType<typeof open>) => {
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    return answer;
  };
  const api = async (server: ChildServer, method: string, target: string, body?: object) => {
    const request = open(`${server.apiUrl}${target}`, method, {
      'X-API-Key': apiKey,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    });
    request.end(body === undefined ? undefined : JSON.stringify(body));
    const answer = await answerTo(request);
    const content = await text(answer);
    return { status: answer.statusCode, body: content === '' ? undefined : JSON.parse(content) };
  };
  const create = async () => {
    const made = await api(servers[0]!, 'POST', '/v2/sandboxes', { templateID: 'base', timeout: 600 });
    expect(made).toMatchObject({ status: 201 });
    return made.body.sandboxID as string;
  };
  /** The server that does not have the sandbox. */
  const otherThan = async (sandboxId: string) => {
    const { api_url: url } = await db
      .selectFrom('sandboxes')
      .innerJoin('nodes', 'nodes.id', 'sandboxes.node_id')
      .select('api_url')
      .where('sandboxes.id', '=', sandboxId)
      .executeTakeFirstOrThrow();
    expect(url).toMatch(/^https:/);
    return servers.find((server) => server.apiUrl !== url)!;
  };
  const inside = (id: string) => ({
    'Svc-Sandbox-Id': id,
    'Svc-Sandbox-Port': String((service.address() as AddressInfo).port),
  });

  it('pass on requests of the API, streams both ways, and upgraded connections', async () => {
    const id = await create();
    const other = await otherThan(id);
    expect(await api(other, 'POST', `/sandboxes/${id}/timeout`, { timeout: 900 })).toMatchObject({
      status: 204,
    });
    expect(await api(other, 'GET', `/sandboxes/${id}`)).toMatchObject({
      status: 200,
      body: { sandboxID: id },
    });

    const request = open(`${other.sandboxUrl}/stream`, 'POST', inside(id));
    request.write('one ');
    const answer = await answerTo(request);
    const chunks = answer.iterator();
    let heard = '';
    // The bytes that were sent come back before the request has ended.
    while (!heard.includes('ONE')) heard += String((await chunks.next()).value);
    request.end('two');
    for await (const chunk of chunks) heard += String(chunk);
    expect(heard).toBe('begun ONE TWO');

    const upgraded = open(`${other.sandboxUrl}/echo`, 'GET', {
      ...inside(id),
      Connection: 'Upgrade',
      Upgrade: 'echo',
    }).end();
    const [, socket] = await once(upgraded, 'upgrade');
    socket.write('over there');
    expect(String((await once(socket, 'data'))[0])).toBe('over there');
    socket.destroy();
    expect((await api(other, 'DELETE', `/sandboxes/${id}`)).status).toBe(204);
  });

  it('refuse another node whose certificate is wrong, say so, and send it nothing', async () => {
    const id = await create();
    const { node_id: owner } = await db
      .selectFrom('sandboxes')
      .select('node_id')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    const stranger = await makeAuthority();
    const wrong = [
      await stranger.issue(),
      await authority.issue([{ type: 'dns', value: 'elsewhere.example' }]),
    ];
    for (const [index, certificate] of wrong.entries()) {
      await using node = await startFakeNode(db, `wrong-${index}`, () => {}, certificate);
      await db.updateTable('sandboxes').set({ node_id: node.id }).where('id', '=', id).execute();
      // A server looks first at what it holds itself.
      const asked = await Promise.all(servers.map((server) => api(server, 'GET', `/sandboxes/${id}`)));
      const refused = asked.filter(({ status }) => status === 503);
      expect(refused.length).toBeGreaterThanOrEqual(1);
      for (const { body } of refused)
        expect(body.message).toBe(
          'the certificate of the node that has this sandbox, template or volume is not accepted by the server that was asked: its operator has to correct that',
        );
      for (const server of servers) {
        const request = open(`${server.sandboxUrl}/`, 'GET', inside(id)).end();
        const answer = await answerTo(request);
        answer.resume();
        expect([200, 503]).toContain(answer.statusCode);
      }
      expect(node.requests).toEqual([]);
    }
    // A server that stops leaves its sandboxes running.
    await db.updateTable('sandboxes').set({ node_id: owner }).where('id', '=', id).execute();
    expect((await api(servers[0]!, 'DELETE', `/sandboxes/${id}`)).status).toBe(204);
  });
});

describe('a certificate that is not accepted', () => {
  it.each([
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', true],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', true],
    ['SELF_SIGNED_CERT_IN_CHAIN', true],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', true],
    ['ERR_TLS_CERT_ALTNAME_INVALID', true],
    ['CERT_HAS_EXPIRED', true],
    ['ECONNREFUSED', false],
    ['EPROTO', false],
  ])('is told from other failures: %s', (code, expected) => {
    const reason = certificateRefusal(Object.assign(new Error('why'), { code }));
    expect(reason).toBe(expected ? `why (${code})` : undefined);
    expect(certificateRefusal(undefined)).toBeUndefined();
  });
});
