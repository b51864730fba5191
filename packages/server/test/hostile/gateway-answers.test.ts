import { request } from 'node:http';
import { connect } from 'node:net';
import { hostileAnswers } from '@svc/runtime/testing';
import { expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { Fixture } from '../gateway/fixture.js';

/** Sends one request and gives its status; 0 when the connection broke. Reads at most a little of the answer. */
const ask = (port: number, headers: Record<string, string>, timeoutMs = 400) =>
  new Promise<number>((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path: '/', headers, agent: false }, (response) => {
      response.on('error', () => undefined);
      response.on('data', () => sent.destroy());
      response.on('close', () => resolve(response.statusCode ?? 0));
    });
    sent.setTimeout(timeoutMs, () => sent.destroy());
    sent.on('error', () => resolve(0));
    sent.on('upgrade', (_response, socket) => {
      socket.destroy();
      resolve(101);
    });
    sent.on('information', () => undefined);
    sent.end();
  });

it.concurrent.each(Object.entries(hostileAnswers))(
  'a service that answers with %s costs its own client only',
  async (_name, answer) => {
    await using fixture = await Fixture.open();
    const hostile = fixture.add('ihostile');
    await fixture.serveTcp(hostile, 3000, (socket) => socket.once('data', () => answer(socket)));
    const neighbour = fixture.add('ineighbour');
    await fixture.serve(neighbour, 3000, (_request, response) => response.end('fine'));
    const to = (id: string) => ({ 'Svc-Sandbox-Id': id, 'Svc-Sandbox-Port': '3000' });

    await ask(fixture.port, to('ihostile'));
    await ask(fixture.port, { ...to('ihostile'), Connection: 'Upgrade', Upgrade: 'websocket' });
    await ask(fixture.port, { ...to('ihostile'), Connection: 'TE', TE: 'trailers' });

    expect(await ask(fixture.port, to('ineighbour'), 30_000)).toBe(200);
  },
);

const DAEMON_PORT = 49_983;

it.concurrent.each(Object.entries(hostileAnswers))(
  "a daemon that answers requests and the gateway's own question for its health with %s costs its own client only",
  async (_name, answer) => {
    await using fixture = await Fixture.open({ config: { silenceMs: 20, healthMs: 50 } });
    // The request is left without an answer, so that the gateway asks.
    let connections = 0;
    await fixture.serveTcp(fixture.add('ihostile'), DAEMON_PORT, (socket) =>
      socket.once('data', () => {
        connections += 1;
        if (connections > 1) answer(socket);
      }),
    );
    const neighbour = fixture.add('ineighbour');
    await fixture.serve(neighbour, DAEMON_PORT, (_request, response) => response.end('fine'));
    const to = (id: string) => ({ 'Svc-Sandbox-Id': id, 'Svc-Sandbox-Port': String(DAEMON_PORT) });

    await eventually('the question for its health', async () => {
      await ask(fixture.port, to('ihostile'), 300);
      return connections > 1;
    });
    await ask(fixture.port, to('ihostile'), 300);
    // A busy machine may take longer than what this gateway allows a daemon for its health.
    await eventually(
      'an answer of the neighbour',
      async () => (await ask(fixture.port, to('ineighbour'), 30_000)) === 200,
    );
  },
);

it('a client that leaves while a service floods it does not leave the flood behind', async () => {
  await using fixture = await Fixture.open();
  const hostile = fixture.add('ihostile');
  await fixture.serveTcp(hostile, 3000, (socket) =>
    socket.once('data', () => hostileAnswers['an endless body in chunks']!(socket)),
  );
  const client = connect({ host: '127.0.0.1', port: fixture.port });
  client.write(
    'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nSvc-Sandbox-Id: ihostile\r\nSvc-Sandbox-Port: 3000\r\n\r\n',
  );
  await new Promise((resolve) => client.once('data', resolve));
  const gone = new Promise((resolve) => hostile.dialed[0]!.once('close', resolve));
  client.destroy();
  await gone;
  await eventually('the books to be right', () => fixture.gateway.stats.openRequests === 0);
});
