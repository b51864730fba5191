import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

export interface PlayedRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  body: Buffer;
}

export type PlayedAnswer = { status?: number; json: unknown } | { destroy: true } | { silent: true };

/** Speaks the shapes of Incus' REST API on a unix socket, as far as a test says. It plays no behaviour. */
export class PlayedIncus {
  readonly socketPath: string;
  readonly requests: PlayedRequest[] = [];
  readonly #server: Server;
  readonly #directory: string;

  private constructor(directory: string, server: Server) {
    this.#directory = directory;
    this.socketPath = join(directory, 'unix.socket');
    this.#server = server;
  }

  static async start(answer: (request: PlayedRequest) => PlayedAnswer): Promise<PlayedIncus> {
    const directory = await mkdtemp(join(tmpdir(), 'played-incus-'));
    const server = createServer((request, response) => void handle(request, response));
    const played = new PlayedIncus(directory, server);
    async function handle(request: IncomingMessage, response: ServerResponse) {
      const url = new URL(request.url ?? '/', 'http://incus');
      const seen = {
        method: request.method ?? 'GET',
        path: url.pathname,
        query: url.searchParams,
        body: await buffer(request),
      };
      played.requests.push(seen);
      const given = answer(seen);
      if ('silent' in given) return;
      if ('destroy' in given) return void request.socket.destroy();
      response.writeHead(given.status ?? 200, { 'content-type': 'application/json' });
      response.end(typeof given.json === 'string' ? given.json : JSON.stringify(given.json));
    }
    await new Promise<void>((resolve) => server.listen(played.socketPath, resolve));
    return played;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#directory, { recursive: true, force: true });
  }
}

export const done = (metadata: unknown): PlayedAnswer => ({
  json: { type: 'sync', status_code: 200, metadata },
});

export const failed = (status: number, error: string): PlayedAnswer => ({
  status,
  json: { type: 'error', error_code: status, error, metadata: null },
});

export const OPERATION = '/1.0/operations/0b5f3c4e-7a55-4c55-9d0c-3f3ab2b1f5aa';

export const started = (metadata: unknown = {}): PlayedAnswer => ({
  status: 202,
  json: { type: 'async', status_code: 100, operation: `${OPERATION}?project=svc`, metadata: { metadata } },
});
