import { createServer, get, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readAnswer } from '../../src/cluster/nodes/read-answer.js';
import { resultOf } from '../../src/cluster/routing/answer.js';

/** Returns the answer of a server with this listener. */
async function answerOf(listener: RequestListener): Promise<IncomingMessage> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent: false }, resolve).on('error', reject);
  });
}

describe('what another server answers', () => {
  it('is read to its end', async () => {
    const answer = await answerOf((_, response) => response.end('x'.repeat(100_000)));
    expect((await readAnswer(answer, 100_000)).length).toBe(100_000);
  });

  it('is given up, with its connection, when it is too long', async () => {
    let ended = () => {};
    const closed = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const answer = await answerOf((_, response) => {
      response.once('close', ended);
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
      };
      response.on('drain', more);
      more();
    });
    await expect(readAnswer(answer, 1_000_000)).rejects.toThrow('longer than 1000000 bytes');
    await closed;
  });

  it('is a failure when it breaks off', async () => {
    const answer = await answerOf((_, response) => response.write('x', () => response.destroy()));
    await expect(readAnswer(answer, 1_000)).rejects.toThrow();
  });

  const result = (status: number, body: string, headers = {}) =>
    resultOf({ status, headers, body: Buffer.from(body) });
  const gone = expect.objectContaining({ status: 503 });

  it('becomes an answer of this one, or its error', () => {
    expect(result(204, '')).toEqual({ status: 204, headers: {} });
    const headers = { 'content-type': 'application/json', 'x-next-token': 'b' };
    expect(result(201, '{"a":1}', headers)).toEqual({
      ...{ status: 201, body: { a: 1 } },
      headers: { 'x-next-token': 'b' },
    });
    expect(() => result(409, '{"message":"no","error_code":"busy"}', { 'retry-after': '2' })).toThrow(
      expect.objectContaining({
        status: 409,
        message: 'no',
        errorCode: 'busy',
        headers: { 'Retry-After': '2' },
      }),
    );
  });

  it.each([
    [200, 'no JSON', gone],
    [302, '{}', gone],
    [404, '<html>', gone],
    [
      500,
      '{"message":{"a":1},"error_code":[7]}',
      expect.objectContaining({ status: 500, errorCode: undefined }),
    ],
    [500, 'null', expect.objectContaining({ message: 'another node of the service failed' })],
  ])('cannot be what no server answers: %s %j', (status, body, error) => {
    expect(() => result(status, body)).toThrow(error);
  });
});
