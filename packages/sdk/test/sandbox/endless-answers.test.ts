import { describe, expect, it } from 'vitest';
import { Client, type Sandbox, ServerError, type SvcError } from '../../src/index.js';

const PIECE = new Uint8Array(1024 * 1024).fill(0x20);

/** An answer of a program that took the daemon's place: a body that never ends. Counts the pieces of it that were taken. */
function endless(status: number) {
  const state = { taken: 0, left: false };
  const answer = () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          state.taken += 1;
          controller.enqueue(PIECE);
        },
        cancel() {
          state.left = true;
        },
      }),
      { status, headers: { 'Content-Type': 'application/json' } },
    );
  return { answer, state };
}

/** A sandbox of which one route answers so. */
async function sandboxAnswering(route: string, answer: () => Response): Promise<Sandbox> {
  const client = new Client({
    apiKey: 'svc_test',
    apiUrl: 'http://service.test',
    sandboxUrl: 'http://sandbox.test',
    maxRetries: 0,
    fetch: async ({ method, url }) => {
      if (`${method} ${new URL(url).pathname}` === route) return answer();
      return Response.json({ sandboxID: 'i0', templateID: 'base', clientID: 'c', envdVersion: '0.6.13' });
    },
  });
  return client.sandboxes.create();
}

describe('an endless answer of the sandbox', () => {
  it.each([
    ['to what it uses', 'GET /metrics', 200, (sandbox) => sandbox.usage()],
    ['to its variables', 'GET /envs', 200, (sandbox) => sandbox.envs()],
    ['to an upload', 'POST /files', 200, (sandbox) => sandbox.files.write('a', 'b')],
    ['to joining files', 'POST /files/compose', 200, (sandbox) => sandbox.files.compose(['a'], 'b')],
    ['as the text of an error', 'GET /metrics', 500, (sandbox) => sandbox.usage()],
  ] satisfies [string, string, number, (sandbox: Sandbox) => Promise<unknown>][])(
    '%s is left early, with an error',
    async (_, route, status, call) => {
      const { answer, state } = endless(status);
      const sandbox = await sandboxAnswering(route, answer);
      const error = await call(sandbox).catch((thrown: SvcError) => thrown);
      expect(ServerError.is(error)).toBe(true);
      expect(state.left).toBe(true);
      expect(state.taken).toBeLessThan(40);
    },
  );
});
