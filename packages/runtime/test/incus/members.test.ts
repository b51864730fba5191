import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IncusClient } from '../../src/incus/incus-client.js';
import { CustomVolumes } from '../../src/incus-driver/volumes/custom-volumes.js';
import { MemberClients } from '../../src/incus-driver/volumes/member-clients.js';
import { makeCertificates } from '../../src/testing/internet/certificates.js';

describe('members of a cluster of which the settings name one', () => {
  let directory: string;
  let credentials: { certificate: string; key: string; serverCertificate: string };
  const servers: Server[] = [];
  const asked: string[] = [];
  const urls: Record<string, string> = {};

  /** Says of itself that it is a member. @param of whose certificate it shows */
  async function play(name: string, of: string): Promise<void> {
    const [key, cert] = await Promise.all(
      ['server.key', 'server.pem'].map((file) => readFile(join(directory, of, file), 'utf8')),
    );
    const server = createServer({ key, cert }, (request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'https://member');
      asked.push(`${name} ${pathname}`);
      const metadata =
        pathname === '/1.0'
          ? { api_extensions: [], auth: 'trusted', environment: { server_name: name } }
          : pathname.endsWith('/state')
            ? { usage: { used: name.length * 1_000 } }
            : [];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ type: 'sync', status_code: 200, metadata }));
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    urls[name] = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'incus-members-'));
    const made = async (of: string) => {
      await mkdir(join(directory, of));
      return makeCertificates(join(directory, of), ['member'], ['127.0.0.1']);
    };
    const serverCertificate = await made('cluster');
    await made('stranger');
    const read = (file: string) => readFile(join(directory, 'cluster', file), 'utf8');
    credentials = {
      certificate: await read('server.pem'),
      key: await read('server.key'),
      serverCertificate,
    };
    await play('a', 'cluster');
    await play('member-b', 'cluster');
    await play('false-c', 'stranger');
  });
  afterAll(async () => {
    for (const server of servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    await rm(directory, { recursive: true, force: true });
  });

  it('list their own volumes, each at its address in the cluster', async () => {
    const access = { address: urls.a!, credentials, project: 'svc' };
    let lists = 0;
    const members = new MemberClients({
      ...access,
      members: async () => {
        lists += 1;
        return Object.entries(urls).map(([name, url]) => ({ server_name: name, url }));
      },
    });
    const client = new IncusClient(access);
    const custom = new CustomVolumes({ client, members, pool: 'p' });
    const bytes = await Promise.all(
      ['a', 'member-b'].map((location) => custom.usedBytes({ name: 'svc-v', location })),
    );
    expect(bytes).toEqual([1_000, 8_000]);
    // One that is no member gets no request, and is not looked for with each volume.
    for (let time = 0; time < 3; time += 1)
      expect(await custom.usedBytes({ name: 'svc-v', location: 'false-c' })).toBeUndefined();
    expect(asked.filter((each) => each.startsWith('false-c'))).toEqual([]);
    expect(lists).toBeLessThanOrEqual(2);
    members.close();
    client.close();
  });

  it('are not called at addresses that no certificate is for', async () => {
    const members = new MemberClients({
      address: join(directory, 'unix.socket'),
      members: async () => [{ server_name: 'member-b', url: urls['member-b']! }],
    });
    expect(await members.of('member-b')).toBeUndefined();
    members.close();
  });
});
