import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { createApi } from '../../src/api/app.js';
import { NodeForwarder } from '../../src/cluster/nodes/forwarder.js';
import { nodeRouting } from '../../src/cluster/routing/answer.js';
import { handlers } from '../../src/process/handlers.js';
import { listen } from '../../src/process/listen.js';
import { startTestServer } from '../support/server.js';

it.each([
  ['DELETE', '/sandboxes/abc', undefined],
  ['GET', '/v2/sandboxes', undefined],
  ['POST', '/sandboxes/abc/pause', undefined],
  ['POST', '/sandboxes/abc/pause', '{}'],
])('%s %s with body %j has no 408 however long it takes to carry out', async (method, path, body) => {
  await using test = await startTestServer();
  let release = () => {};
  const slow = new Promise<void>((resolve) => {
    release = resolve;
  });
  const answering = async () => {
    await slow;
    return { status: 204 as const };
  };
  const api = createApi({
    context: test.server.context,
    handlers: {
      ...handlers,
      killSandbox: answering,
      listSandboxesV2: answering as never,
      pauseSandbox: answering,
    },
    routing: nodeRouting(test.server.context, new NodeForwarder(test.server.context)),
    bodyReadMs: 500,
  });
  await api.ready();
  const url = await listen(api.server, '127.0.0.1', 0);
  const headers = {
    'X-API-Key': test.server.apiKey,
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
  const answer = fetch(`${url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  // By the time that one that begins later has run out of time, the first one's would be over too.
  const late = connect(Number(new URL(url).port), '127.0.0.1');
  late.write(
    `POST /v2/sandboxes HTTP/1.1\r\nHost: test\r\nX-API-Key: ${test.server.apiKey}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
  );
  const [bytes] = await once(late, 'data');
  expect(String(bytes)).toMatch(/^HTTP\/1\.1 408 /);
  release();
  expect((await answer).status).toBe(204);
  late.destroy();
  await api.close();
});
