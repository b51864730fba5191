import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { casesOf, check } from '../../case.js';
import { sampleRequest, unknownIds } from '../../requests/samples.js';
import { assertFailure, call, callVolume, fillPath } from '../../wire/call.js';
import { type Operation, volumes } from '../../wire/documents.js';
import { observe } from '../../wire/recorder.js';
import { all, needsOf } from './operations.js';

const contents = [...volumes.operations.values()];
const VOLUME_PATH = { query: { path: '/f' } };

/** A server that stops, a store that does not answer, and requests that are none: for every operation. */
export const outageCases = casesOf('outages', [
  ...all.map((operation) =>
    check(
      `${operation.id} of a server that stops gives 503 and says when to come back`,
      [operation.id, '503', { needs: needsOf(operation, 'servers') }],
      async (target) => {
        const server = await target.server('draining');
        const answer = await call(server, operation.id, sampleRequest(operation.id));
        assertFailure(answer, { status: 503, message: 'the service is shutting down' });
        assert.equal(answer.headers['retry-after'], '1');
      },
    ),
  ),
  ...contents.map((operation) =>
    check(
      `${operation.id} of a server that stops gives 503 and says when to come back`,
      [operation.id, '503', { needs: ['servers'] }],
      async (target) => {
        const server = await target.server('draining');
        const answer = await callVolume(server.apiUrl, 'a-token', operation.id, {
          ...VOLUME_PATH,
          path: unknownIds,
        });
        assert.equal(answer.status, 503, answer.text);
        assert.equal((answer.json() as { code: string }).code, 'unavailable');
        assert.equal(answer.headers['retry-after'], '1');
      },
    ),
  ),
  ...all
    .filter((operation) => operation.statuses.includes('504'))
    .map((operation) =>
      check(
        `${operation.id} on a store that does not answer runs out of time`,
        [operation.id, '504', { needs: needsOf(operation, 'servers') }],
        async (target) => {
          const server = await target.server('stalled-storage');
          const answer = await call(server, operation.id, sampleRequest(operation.id));
          assertFailure(answer, { status: 504, message: 'the request ran out of time' });
        },
      ),
    ),
  check(
    'a head that does not end gives 408, for any operation',
    ['every operation', '408', { needs: ['servers'] }],
    (target) => everyHead(target.apiUrl, 408, 'X-Slow: '),
  ),
  // Of the volume content API other cases make 400: its record is not that of the connection.
  check(
    'a head that is not HTTP gives 400, for any operation',
    ['every operation', '400 malformed', { needs: ['servers'] }],
    (target) => everyHead(target.apiUrl, 400, 'no header\r\n\r\n', all),
  ),
]);

/** Begins a request of every operation with a head that continues as asked, all at once. */
async function everyHead(
  apiUrl: string,
  status: number,
  rest: string,
  operations: readonly Operation[] = [...all, ...contents],
): Promise<void> {
  await Promise.all(
    operations.map(async (operation) => {
      const path = fillPath(operation.path, sampleRequest(operation.id).path);
      const { head, body } = await rawAnswer(
        apiUrl,
        `${operation.method} ${path} HTTP/1.1\r\nHost: x\r\n${rest}`,
      );
      assert.ok(head.startsWith(`HTTP/1.1 ${status} `), head);
      const wrong = operation.checkAnswer(status, 'application/json', body);
      assert.equal(wrong, undefined, `${operation.id}: ${wrong}`);
      assert.equal((JSON.parse(body) as { code: number }).code, status);
      observe({ operation: operation.id, outcome: String(status) });
    }),
  );
}

/** Returns the server's answer to some bytes until it ends the connection. */
function rawAnswer(url: string, bytes: string): Promise<{ head: string; body: string }> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => {
      const [head = '', body = ''] = text.split('\r\n\r\n', 2);
      resolve({ head, body });
    });
  });
}
