import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
beforeAll(async () => {
  test = await startTestServer();
});
afterAll(() => test[Symbol.asyncDispose]());

/** Sends bytes and gives all that comes back until the server ends the connection. */
function send(bytes: string): Promise<string> {
  const { port } = new URL(test.server.apiUrl);
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (data) => {
      answer += data;
    });
    socket.on('end', () => resolve(answer));
    socket.on('error', reject);
  });
}

describe('what is no HTTP request', () => {
  it.each(['nonsense\r\n\r\n', 'GET /health HTTP/1.1\r\nno colon\r\n\r\n'])(
    '%j gets the error record',
    async (bytes) => {
      const answer = await send(bytes);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ code: 400 });
    },
  );
});

it('says nothing but the fixed text about a body for secrets that is no JSON', async () => {
  const answer = await test.api('POST', '/secrets', '{"name": "a", "value": "hidden');
  expect(answer).toMatchObject({ status: 400, body: { code: 400, message: 'Invalid secrets request' } });
});

it.each([
  ['POST', '/v2/sandboxes', { templateID: 'base', metadata: { a: 'x\0y' } }, 'body.metadata.a'],
  ['POST', '/v2/sandboxes', { templateID: 'base', metadata: { 'x\0y': 'a' } }, 'body.metadata'],
  ['POST', '/api-keys', { name: 'x\0y' }, 'body.name'],
  ['GET', '/v2/sandboxes?template=a%00b', undefined, 'query.template'],
])('refuses NUL in %s %s %j, which not every store can keep', async (method, path, body, place) => {
  expect(await test.api(method, path, body)).toMatchObject({
    status: 400,
    body: { code: 400, message: `validation error: ${place} has a NUL character` },
  });
});

it('refuses NUL that is decoded only in the metadata filter', async () => {
  expect((await test.api('GET', '/v2/sandboxes?metadata=a%3Dx%2500y')).status).toBe(400);
});

it('answers a request that does not arrive whole with 408, not with silence', async () => {
  const key = test.server.apiKey;
  const head = `POST /v2/sandboxes HTTP/1.1\r\nHost: test\r\nX-API-Key: ${key}\r\n`;
  const body = `${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;
  const answers = await Promise.all([send(head), send(body)]);
  for (const answer of answers) {
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ code: 408 });
  }
});
