import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { eventually } from '#support/eventually';
import { startTestServer, type TestServer } from '../support/server.js';

/** The lines of the log, with their levels. */
const lines: Record<string, unknown>[] = [];
let test: TestServer;
beforeAll(async () => {
  test = await startTestServer();
  const { log } = test.server.context;
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    vi.spyOn(log, level).mockImplementation(((fields: object, msg?: string) => {
      lines.push({ level, msg, ...fields });
    }) as never);
});
afterAll(() => test?.[Symbol.asyncDispose]());

let asked = 0;
/** Sends a request and gives its line. */
async function lineOf(
  method: string,
  target: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ line: Record<string, unknown>; status: number; body: Record<string, string> }> {
  const requestId = `log-${++asked}`;
  const answer = await test.api(method, target, body, { 'X-Request-Id': requestId, ...headers });
  const line = await eventually(`the line of ${method} ${target}`, () =>
    lines.find((one) => one.requestId === requestId && one.msg === 'request'),
  );
  return { line, status: answer.status, body: answer.body };
}

it('has for each request the caller, the operation, the resource and the outcome', async () => {
  const made = await lineOf('POST', '/v2/sandboxes', { templateID: 'base' });
  const { teamID } = (await test.api('GET', '/team')).body;
  expect(made.line).toMatchObject({
    ...{ level: 'info', operationId: 'createSandboxV2', status: 201, teamId: teamID },
    ...{ resourceKind: 'sandbox', resourceId: made.body.sandboxID, clientAddress: '127.0.0.1' },
    apiKeyId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(made.line.durationMs).toBeGreaterThan(0);
  const read = await lineOf('GET', `/sandboxes/${made.body.sandboxID}`);
  expect(read.line).toMatchObject({
    operationId: 'getSandbox',
    status: 200,
    resourceId: made.body.sandboxID,
  });
  const killed = await lineOf('DELETE', `/sandboxes/${made.body.sandboxID}`);
  expect(killed.line).toMatchObject({ level: 'info', operationId: 'killSandbox', status: 204 });
  const missing = await lineOf('DELETE', `/sandboxes/${made.body.sandboxID}`);
  expect(missing.line).toMatchObject({ level: 'info', status: 404 });
  expect(lines.filter(({ requestId }) => requestId === missing.line.requestId)).toHaveLength(1);
});

it('holds no value, no key and no line break of a client', async () => {
  await lineOf('POST', '/secrets', { name: 'MARK', value: 'mark-of-a-value' });
  await lineOf('DELETE', `/api-keys/${test.server.apiKey}`);
  await lineOf('DELETE', `/sandboxes/${encodeURIComponent('i1\n{"msg":"request"}')}`);
  await lineOf('POST', '/v2/sandboxes?key=mark-of-a-query', {
    templateID: 'base',
    envVars: { 'a b': 'mark-of-env' },
  });
  const text = JSON.stringify(lines.filter(({ msg }) => msg === 'request'));
  for (const mark of ['mark-of', test.server.apiKey, 'i1\\\\n']) expect(text).not.toContain(mark);
});

it('is quiet about probes and about who has no key', async () => {
  expect((await lineOf('GET', '/health')).line).toMatchObject({ level: 'debug', status: 204 });
  const stranger = await lineOf('GET', '/team', undefined, { 'X-API-Key': `svc_${'ab'.repeat(20)}` });
  expect(stranger.line).toMatchObject({ level: 'debug', status: 401 });
  expect(stranger.line.apiKeyId).toBeUndefined();
});

it('calls a client that left by 499', async () => {
  const { hostname, port } = new URL(test.server.apiUrl);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const head = ['Host: x', `X-API-Key: ${test.server.apiKey}`, 'X-Request-Id: left', 'Content-Length: 100'];
  socket.write(
    `POST /v2/sandboxes HTTP/1.1\r\n${head.join('\r\n')}\r\nContent-Type: application/json\r\n\r\n{`,
  );
  socket.destroy();
  const line = await eventually('the line', () => lines.find(({ requestId }) => requestId === 'left'));
  expect(line).toMatchObject({ operationId: 'createSandboxV2', status: 499 });
});

it('has requests to the operator port, with a wrong token too', async () => {
  const { operatorUrl, operatorToken } = test.server;
  const ask = (token: string, requestId: string) =>
    fetch(`${operatorUrl}/teams`, {
      headers: { Authorization: `Bearer ${token}`, 'X-Request-Id': requestId },
    });
  await ask(operatorToken, 'operator-1');
  await ask('wrong-token-wrong-token-wrong-token', 'operator-2');
  const found = await Promise.all(
    ['operator-1', 'operator-2'].map((id) =>
      eventually(`the line of ${id}`, () => lines.find(({ requestId }) => requestId === id)),
    ),
  );
  expect(found).toMatchObject([
    { level: 'info', msg: 'operator request', operationId: 'listTeams', status: 200 },
    { level: 'info', msg: 'operator request', status: 401, clientAddress: '127.0.0.1' },
  ]);
  expect(JSON.stringify(found)).not.toMatch(/wrong-token|svcop_/);
});
