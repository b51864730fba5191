import { json, type Reply } from './script.js';

/** A request that was made. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Headers;
  /** The body as text; empty when there was none. */
  readonly body: string;
}

interface Route {
  method: string;
  pattern: RegExp;
  /** Used one after another; the last one stays. */
  replies: Reply[];
}

/**
 * A `fetch` without a network. Say what it answers with `on`, hand it to a client, look at `requests` afterwards. What
 * nothing was said about is answered with 501, which names the request.
 */
export class TestFetch {
  /** Every request, oldest first. */
  readonly requests: SeenRequest[] = [];
  readonly #routes: Route[] = [];
  readonly #bodies = new WeakMap<Response, Promise<ArrayBuffer | null>>();

  /**
   * Answers requests to `METHOD /path`, where `{name}` stands for one part of the path. Several replies are used one
   * after another, and the last one for all that follow. A later `on` for the same place wins.
   * @example
   * platform.on('GET /team', json(500, { code: 500, message: 'broken' }));
   */
  on(place: string, ...replies: [Reply, ...Reply[]]): this {
    const [method = '', path = ''] = place.split(' ');
    const escaped = path.replace(/[.+^$()|[\]\\*?]/g, '\\$&').replace(/\{[^}]*\}/g, '[^/]+');
    this.#routes.unshift({
      method: method.toUpperCase(),
      pattern: new RegExp(`^${escaped}$`),
      replies: [...replies],
    });
    return this;
  }

  /** A reply may be used again, and a body is read once. A clone would not do: cancelling it waits for its twin. */
  async #copy(reply: Response): Promise<Response> {
    let bytes = this.#bodies.get(reply);
    if (!bytes) {
      bytes = reply.body ? reply.arrayBuffer() : Promise.resolve(null);
      this.#bodies.set(reply, bytes);
    }
    const { status, headers } = reply;
    return new Response(await bytes, { status, headers });
  }

  /** To be given to `new Client({ fetch })`. */
  readonly fetch = async (request: Request, init?: RequestInit): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const body = request.body ? await request.clone().text() : '';
    this.requests.push({
      method: request.method,
      path: `${pathname}${search}`,
      headers: request.headers,
      body,
    });
    (init?.signal ?? request.signal).throwIfAborted();
    const route = this.#routes.find(
      ({ method, pattern }) => method === request.method && pattern.test(pathname),
    );
    if (!route) {
      const message = `No reply is scripted for ${request.method} ${pathname}`;
      return json(501, { code: 501, message });
    }
    const reply = (route.replies.length > 1 ? route.replies.shift() : route.replies[0]) as Reply;
    const result = typeof reply === 'function' ? await reply(request) : reply;
    if (result instanceof Error) throw result;
    return typeof reply === 'function' ? result : this.#copy(result);
  };
}
