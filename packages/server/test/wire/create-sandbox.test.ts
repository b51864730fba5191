import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';

describe('createSandboxV2', () => {
  let test: TestServer;
  beforeAll(async () => {
    test = await startTestServer();
  });
  afterAll(() => test[Symbol.asyncDispose]());

  it('answers 201 with a running sandbox and its token', async () => {
    const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base', metadata: { a: '1' } });
    expect(made).toMatchObject({ status: 201, body: { alias: 'base', clientID: 'svc00000' } });
    expect(made.body.sandboxID).toMatch(/^i[a-z0-9]{20}$/);
    expect(made.body.envdAccessToken).toMatch(/^[0-9a-f]{64}$/);
    const read = await test.api('GET', `/sandboxes/${made.body.sandboxID}`);
    expect(read).toMatchObject({ status: 200, body: { state: 'running', metadata: { a: '1' } } });
    expect(Date.parse(read.body.endAt) - Date.parse(read.body.startedAt)).toBe(300_000);
    const gone = await test.api('DELETE', `/sandboxes/${made.body.sandboxID}`);
    expect(gone.status).toBe(204);
    expect((await test.api('GET', `/sandboxes/${made.body.sandboxID}`)).status).toBe(404);
  });

  it.each([
    [{ 'A=B': 'hidden' }, 'envVars: "A=B" cannot be the name of a variable'],
    [{ '': 'hidden' }, 'envVars: "" cannot be the name of a variable'],
    [{ A: 'hid\0den' }, 'validation error: body.envVars.A has a NUL character'],
  ])('refuses the variables %j, which no program could get', async (envVars, message) => {
    expect(await test.api('POST', '/v2/sandboxes', { templateID: 'base', envVars })).toMatchObject({
      status: 400,
      body: { code: 400, message },
    });
  });
});
