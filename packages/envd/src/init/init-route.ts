import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EnvdContext } from '../context.js';
import { readText } from '../http/read-text.js';
import { sendError } from '../http/rest.js';
import { applyInit, type InitState, type InitSystem } from './init-state.js';
import { type InitRequest, parseInit } from './wire.js';

const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** Makes the handler of POST /init. */
export function createInitRoute(context: EnvdContext, system: InitSystem = linuxSystem) {
  const state: InitState = { acceptedAt: undefined };
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const header = request.headers['x-access-token'];
    const shown = typeof header === 'string' ? header : undefined;
    if (!context.token.matches(shown)) {
      sendError(response, 401, 'the access token is missing or wrong');
      return;
    }
    const original = context.token.matchesPrevious(shown);
    let init: InitRequest;
    try {
      init = parseInit(await readText(request, MAX_BODY_BYTES));
    } catch (error) {
      // A parser's words may quote the body, and the body holds secrets.
      sendError(
        response,
        400,
        error instanceof SyntaxError ? 'the body is not JSON' : (error as Error).message,
      );
      return;
    }
    await applyInit(context, state, init, system, original);
    response.writeHead(204).end();
  };
}

const linuxSystem: InitSystem = {
  async setHostname(name) {
    // Not every sandbox has a host name of its own to change.
    await writeFile('/proc/sys/kernel/hostname', name).catch(() => {});
  },
  // Most sandboxes trust nobody further: they do not load what it takes.
  trustAuthority: async (pem) => (await import('./trust.js')).trustAuthority(pem),
};
