import { Agent, request } from 'node:http';
import { frame } from '@svc/support/connect-frames';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { shell } from '../process/collect.js';
import { startDaemon, type TestDaemon } from '../test-daemon.js';

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(() => daemon.stop());

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
afterAll(() => agent.destroy());

/** Sends a body over the one connection; gives the answer's status and text, and its local port. */
function send(path: string, body?: Uint8Array[], headers: Record<string, string> = {}) {
  return new Promise<{ status: number; text: string; port: number }>((resolve, reject) => {
    const method = body ? 'POST' : 'GET';
    const sent = request(`${daemon.url}${path}`, { method, agent, headers }, (response) => {
      const port = response.socket.localPort!;
      let text = '';
      response.on('data', (data) => {
        text += data;
      });
      response.once('end', () => resolve({ status: response.statusCode!, text, port }));
      response.once('error', reject);
    });
    sent.once('error', reject);
    for (const piece of body ?? []) sent.write(piece);
    sent.end();
  });
}

it('serves the next request of a connection whose last one was answered before it was read', async () => {
  for (let round = 0; round < 5; round++) {
    const stream = daemon.client.start(shell('head -c 3'))[Symbol.asyncIterator]();
    const first = (await stream.next()).value!.event!.event;
    if (first.case !== 'start') throw new Error('the first event is no start');
    const { pid } = first.value;
    const data = frame({ data: { input: { stdin: Buffer.alloc(128 * 1024, 'x').toString('base64') } } });
    const pieces = [frame({ start: { process: { pid } } }), ...new Array<Uint8Array>(24).fill(data)];
    const answer = await send('/process.Process/StreamInput', pieces, {
      'Content-Type': 'application/connect+json',
      'Connect-Protocol-Version': '1',
    });
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('"error"');
    const next = await send('/health');
    expect(next.status).toBeLessThan(300);
    while (!(await stream.next()).done);
  }
});
