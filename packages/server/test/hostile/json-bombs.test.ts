import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';

const MIB = 1_048_576;
let test: TestServer;
beforeAll(async () => {
  test = await startTestServer();
});
afterAll(() => test[Symbol.asyncDispose]());

/** A server may end the connection while its client still writes, which then does not get to read the answer. */
interface Answer {
  status: number | 'broken off';
  headers: Record<string, unknown>;
  body: string;
}

/** Sends pieces until there is an answer, or there are no more. */
async function send(
  target: string,
  pieces: Iterable<Buffer>,
  headers: Record<string, string>,
  method = 'POST',
) {
  const sent = request(`${test.server.apiUrl}${target}`, {
    method,
    headers: { 'Content-Type': 'application/json', ...headers },
    agent: false,
  });
  const over = new AbortController();
  let written = 0;
  const response = once(sent, 'response')
    .then(async ([answer]): Promise<Answer> => {
      over.abort();
      return { status: answer.statusCode as number, headers: answer.headers, body: await text(answer) };
    })
    .catch((): Answer => ({ status: 'broken off', headers: {}, body: '' }));
  sent.on('error', () => undefined);
  sent.once('close', () => over.abort());
  for (const piece of pieces) {
    if (over.signal.aborted) break;
    written += piece.length;
    if (!sent.write(piece)) await once(sent, 'drain', { signal: over.signal }).catch(() => undefined);
  }
  sent.end();
  return { ...(await response), written };
}

function* endless(text: string): Iterable<Buffer> {
  const piece = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)));
  for (let sent = 0; sent < 256 * MIB; sent += piece.length) yield piece;
}

const key = () => ({ 'X-API-Key': test.server.apiKey });

describe('JSON bombs', () => {
  it.each([
    ['nested lists', '[', 'more than 64 levels'],
    ['nested objects', '{"a":', 'more than 64 levels'],
    ['many values', '[],', 'more than'],
    ['many members', '"a":1,', 'more than'],
  ])('%s without end are refused after a few pieces', async (_name, unit, message) => {
    const answer = await send('/v2/sandboxes', endless(unit), key());
    if (answer.status !== 'broken off') {
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.body).message).toContain(message);
    }
    expect(answer.written).toBeLessThan(8 * MIB);
  });

  it('four clients that send them all the time keep nobody else waiting', async () => {
    const over = new AbortController();
    const bombs = Array.from({ length: 4 }, async () => {
      while (!over.signal.aborted) await send('/v2/sandboxes', endless('['), key());
    });
    for (let count = 0; count < 20; count += 1)
      expect(
        (await fetch(`${test.server.apiUrl}/health`, { signal: AbortSignal.timeout(20_000) })).status,
      ).toBeLessThan(300);
    over.abort();
    await Promise.all(bombs);
  });

  it('a body of a client without a key is not read', async () => {
    const answer = await send('/v2/sandboxes', endless('x'), {});
    expect([401, 'broken off']).toContain(answer.status);
    expect(answer.written).toBeLessThan(8 * MIB);
  });

  it('nor is one for a path that does not exist, or for the content of a volume without its token', async () => {
    const nowhere = await send('/nowhere', endless('['), key());
    expect([404, 'broken off']).toContain(nowhere.status);
    expect(nowhere.written).toBeLessThan(8 * MIB);
    const volume = await send(
      '/volumecontent/00000000-0000-0000-0000-000000000000/path',
      endless('['),
      {},
      'PATCH',
    );
    expect([401, 'broken off']).toContain(volume.status);
    expect(volume.written).toBeLessThan(8 * MIB);
  });

  it('brackets inside texts are texts', async () => {
    const made = await test.api('POST', '/v2/sandboxes', {
      templateID: 'base',
      metadata: { note: '[{'.repeat(500) },
    });
    expect(made.status).toBe(201);
    await test.api('DELETE', `/sandboxes/${made.body.sandboxID}`);
  });
});
