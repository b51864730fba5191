/** The answer to one request, or a failure of the network. */
export type Reply = Response | Error | ((request: Request) => Response | Error | Promise<Response | Error>);

interface Entry {
  readonly method: string;
  readonly pattern: RegExp;
  /** Used one after another; the last one stays. */
  readonly replies: Reply[];
}

/** Answers that a test gives by itself. Later ones win. */
export class ReplyList {
  readonly #entries: Entry[] = [];
  readonly #bodies = new WeakMap<Response, Promise<ArrayBuffer | null>>();

  /** @param place `METHOD /path`, where `{name}` stands for one part */
  add(place: string, replies: readonly Reply[]): void {
    const [, method, path] = /^([A-Za-z]+) (\/\S*)$/.exec(place) ?? [];
    if (method === undefined || path === undefined)
      throw new TypeError(`service.on: write the place as 'GET /path/{id}', got '${place}'.`);
    if (replies.length === 0) throw new TypeError(`service.on: no reply is given for ${place}.`);
    const escaped = path.replace(/[.+^$()|[\]\\*?]/g, '\\$&').replace(/\{[^}]*\}/g, '[^/]+');
    this.#entries.unshift({
      method: method.toUpperCase(),
      pattern: new RegExp(`^${escaped}$`),
      replies: [...replies],
    });
  }

  /** The answer that was given for a request; undefined when there is none. @throws what was given as a failure */
  async answer(request: Request, { pathname }: URL): Promise<Response | undefined> {
    const entry = this.#entries.find(
      ({ method, pattern }) => method === request.method && pattern.test(pathname),
    );
    if (!entry) return undefined;
    const { replies } = entry;
    const reply = (replies.length > 1 ? replies.shift() : replies[0]) as Reply;
    const result = typeof reply === 'function' ? await reply(request) : reply;
    if (result instanceof Error) throw result;
    return typeof reply === 'function' ? result : this.#copy(result);
  }

  /** A reply may be used again, and a body is read once. A clone would not do: cancelling it waits for its original. */
  async #copy(reply: Response): Promise<Response> {
    let bytes = this.#bodies.get(reply);
    if (!bytes) {
      bytes = reply.body ? reply.arrayBuffer() : Promise.resolve(null);
      this.#bodies.set(reply, bytes);
    }
    const { status, headers } = reply;
    return new Response(await bytes, { status, headers });
  }
}
