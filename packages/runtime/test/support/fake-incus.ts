import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

export interface FakeRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  body: Buffer;
}

export type FakeAnswer = { status?: number; json: unknown } | { destroy: true } | { silent: true };

/** Speaks the shapes of Incus' REST API on a unix socket, as far as a test says. It plays no behaviour. */
export class FakeIncus {
  readonly socketPath: string;
  readonly requests: FakeRequest[] = [];
  readonly #server: Server;
  readonly #directory: string;

  private constructor(directory: string, server: Server) {
    this.#directory = directory;
    this.socketPath = join(directory, 'unix.socket');
    this.#server = server;
  }

  static async start(answer: (request: FakeRequest) => FakeAnswer): Promise<FakeIncus> {
    const directory = await mkdtemp(join(tmpdir(), 'fake-incus-'));
    const server = createServer((request, response) => void handle(request, response));
    const fake = new FakeIncus(directory, server);
    async function handle(request: IncomingMessage, response: ServerResponse) {
      const url = new URL(request.url ?? '/', 'http://incus');
      const seen = {
        method: request.method ?? 'GET',
        path: url.pathname,
        query: url.searchParams,
        body: await buffer(request),
      };
      fake.requests.push(seen);
      const given = answer(seen);
      if ('silent' in given) return;
      if ('destroy' in given) return void request.socket.destroy();
      response.writeHead(given.status ?? 200, { 'content-type': 'application/json' });
      response.end(typeof given.json === 'string' ? given.json : JSON.stringify(given.json));
    }
    await new Promise<void>((resolve) => server.listen(fake.socketPath, resolve));
    return fake;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#directory, { recursive: true, force: true });
  }
}

export const done = (metadata: unknown): FakeAnswer => ({
  json: { type: 'sync', status_code: 200, metadata },
});

export const failed = (status: number, error: string): FakeAnswer => ({
  status,
  json: { type: 'error', error_code: status, error, metadata: null },
});

export const OPERATION = '/1.0/operations/0b5f3c4e-7a55-4c55-9d0c-3f3ab2b1f5aa';

export const started = (metadata: unknown = {}): FakeAnswer => ({
  status: 202,
  json: { type: 'async', status_code: 100, operation: `${OPERATION}?project=svc`, metadata: { metadata } },
});
