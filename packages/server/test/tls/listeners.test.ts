import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import tls, { type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import type { CertificatePair } from '../../src/process/tls/judge-certificate.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { makeCertificate, writeCertificate } from './made-certificate.js';

const PER_ADDRESS = 12;

describe('listeners with a certificate', () => {
  let directory: string;
  let first: CertificatePair;
  let second: CertificatePair;
  let files: { certificate: string; key: string };
  let test: TestServer;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'listeners-'));
    [first, second] = await Promise.all([makeCertificate(), makeCertificate()]);
    files = await writeCertificate(directory, first);
    test = await startTestServer({
      tls: files,
      tuning: { connections: { perAddress: PER_ADDRESS, strangerIdleMs: 60_000 } },
    });
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  const trusted = () => [first.certificate, second.certificate];

  /** Serial number of the certificate that each connection was shown. */
  const shownTo = new WeakMap<object, string>();

  async function ask(url: string, agent: https.Agent) {
    const request = https.request(url, { agent, headers: { 'X-API-Key': test.server.apiKey } });
    let used: TLSSocket | undefined;
    request.once('socket', (socket: TLSSocket) => {
      used = socket;
      socket.once('secureConnect', () =>
        shownTo.set(socket, new X509Certificate(socket.getPeerX509Certificate()!.raw).serialNumber),
      );
    });
    request.end();
    const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
    return {
      status: answer.statusCode,
      body: await text(answer),
      socket: used,
      shown: shownTo.get(used!),
    };
  }

  it('serve API and gateway by HTTPS, to Node and to curl, and nothing by plain HTTP', async () => {
    const { apiUrl, sandboxUrl } = test.server;
    expect([apiUrl, sandboxUrl]).toEqual([
      expect.stringMatching(/^https:/),
      expect.stringMatching(/^https:/),
    ]);
    const agent = new https.Agent({ ca: trusted(), maxCachedSessions: 0 });
    expect(await ask(`${apiUrl}/v2/sandboxes`, agent)).toMatchObject({ status: 200, body: '[]' });
    expect(await ask(`${sandboxUrl}/`, agent)).toMatchObject({ status: 400 });
    agent.destroy();
    const curl = ['--silent', '--show-error', '--max-time', '60', '--cacert', files.certificate];
    const { stdout } = await promisify(execFile)('curl', [
      ...curl,
      ...['--header', `X-API-Key: ${test.server.apiKey}`, `${apiUrl}/v2/sandboxes`],
    ]);
    expect(stdout).toBe('[]');
    // Its name is not in the certificate.
    const misnamed = ['--resolve', `other.test:${new URL(apiUrl).port}:127.0.0.1`];
    await expect(
      promisify(execFile)('curl', [
        ...curl,
        ...misnamed,
        `https://other.test:${new URL(apiUrl).port}/health`,
      ]),
    ).rejects.toThrow(/SSL/);
    const plain = http.request(apiUrl.replace('https:', 'http:'));
    plain.end();
    await expect(once(plain, 'response')).rejects.toThrow();
  });

  it('refuse versions before TLS 1.2', async () => {
    const { port } = new URL(test.server.apiUrl);
    const old = tls.connect({
      ...{ host: '127.0.0.1', port: Number(port), ca: trusted() },
      ...{ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
    });
    await expect(once(old, 'secureConnect')).rejects.toThrow();
  });

  it('keep each address within its limit, and connections with a key for later requests', async () => {
    const { port } = new URL(test.server.apiUrl);
    const sockets = Array.from({ length: PER_ADDRESS + 5 }, () =>
      connect({ host: '127.0.0.1', port: Number(port), localAddress: '127.0.0.9' }).on(
        'error',
        () => undefined,
      ),
    );
    await eventually('those above the limit to be closed', () => {
      for (const socket of sockets) socket.resume();
      return sockets.filter((socket) => socket.closed).length === 5;
    });
    for (const socket of sockets) socket.destroy();
    const agent = new https.Agent({ ca: trusted(), maxCachedSessions: 0, keepAlive: true, maxSockets: 1 });
    const one = await ask(`${test.server.apiUrl}/v2/sandboxes`, agent);
    const other = await ask(`${test.server.apiUrl}/v2/sandboxes`, agent);
    expect(other.socket).toBe(one.socket);
    const metrics = await (await fetch(`${test.server.operatorUrl}/metrics`)).text();
    expect(Number(/svc_connections_refused_total\{listener="api"\} (\d+)/.exec(metrics)?.[1])).toBe(5);
    agent.destroy();
  });

  it('take a new certificate without a break: open connections continue, new ones get it', async () => {
    const { apiUrl } = test.server;
    const agent = new https.Agent({ ca: trusted(), maxCachedSessions: 0, keepAlive: true, maxSockets: 1 });
    const before = await ask(`${apiUrl}/v2/sandboxes`, agent);
    await writeCertificate(directory, second);
    await test.server.reloadCertificates();
    const same = await ask(`${apiUrl}/v2/sandboxes`, agent);
    expect(same).toMatchObject({ status: 200, shown: before.shown });
    expect(same.socket).toBe(before.socket);
    const fresh = new https.Agent({ ca: trusted(), maxCachedSessions: 0 });
    const expected = new X509Certificate(second.certificate).serialNumber;
    for (const url of [`${apiUrl}/v2/sandboxes`, `${test.server.sandboxUrl}/`])
      expect((await ask(url, fresh)).shown).toBe(expected);
    // One that is no good changes nothing.
    await writeCertificate(directory, { ...second, key: first.key });
    await test.server.reloadCertificates();
    expect((await ask(`${apiUrl}/v2/sandboxes`, fresh)).shown).toBe(expected);
    agent.destroy();
    fresh.destroy();
  });
});

describe('a server with a certificate that is no good', () => {
  it('does not start, says why, and leaves its data directory free', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'listeners-'));
    try {
      const files = await writeCertificate(directory, await makeCertificate({ from: -9, to: -2 }));
      await expect(startTestServer({ tls: files })).rejects.toThrow(/ended on .*: renew it/);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
