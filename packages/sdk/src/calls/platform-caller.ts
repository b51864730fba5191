import { PathParameterError, type PlatformClient } from '@svc/platform';
import type { CallContext } from '../core/call-context.js';
import type { Fetch } from '../core/middleware.js';
import { type Page, PageList } from '../core/page.js';
import { AuthenticationError, InvalidRequestError } from '../errors/answer-errors.js';
import { deleteOnce } from './delete-once.js';
import type { HttpCaller } from './http-caller.js';
import { type Answer, readAnswer } from './read-answer.js';

/** A call to the platform: everything but who is asked. */
export type PlatformCallContext = Omit<CallContext, 'service'>;

/** Sends one typed request: `(platform, fetch) => platform.GET('/team', { fetch })`. */
type Send<Client, Data> = (client: Client, fetch: Fetch) => Promise<Answer<Data>>;

interface CallerParts<Client> {
  http: HttpCaller;
  client: Client;
  service: 'platform' | 'operator';
  /** True when there is a credential: without one nothing is sent. */
  hasCredential: boolean;
  /** Advice for the error when there is none. */
  credentialHint: string;
}

/** Makes typed calls to the platform or the operator port; a failed answer is thrown as the error of the table. */
export class PlatformCaller<Client = PlatformClient> {
  readonly #parts: CallerParts<Client>;

  constructor(parts: CallerParts<Client>) {
    this.#parts = parts;
  }

  /** Gives the data of the answer. */
  async call<Data>(
    context: PlatformCallContext,
    send: Send<Client, Data>,
  ): Promise<Exclude<Data, undefined>> {
    return (await this.answer(context, send)).data;
  }

  /** Deletes something: false when there was none. */
  delete(context: PlatformCallContext, send: Send<Client, unknown>): Promise<boolean> {
    return deleteOnce(context, (observed) => this.call(observed, send));
  }

  /** A list whose pages follow each other by token. Nothing is sent before it is read. */
  list<Wire, Item>(
    context: PlatformCallContext & { options: { nextToken?: string | undefined } },
    send: (client: Client, fetch: Fetch, nextToken: string | undefined) => Promise<Answer<Wire[]>>,
    from: (item: Wire) => Item,
  ): PageList<Item> {
    const readPage = async (token: string | undefined): Promise<Page<Item>> => {
      const { data, response } = await this.answer(context, (client, fetch) => send(client, fetch, token));
      const total = response.headers.get('x-total-running');
      return {
        items: data.map(from),
        nextToken: nextTokenOf(response),
        total: total === null ? undefined : Number(total),
      };
    };
    return new PageList(readPage, context.options.nextToken);
  }

  /** Gives the data of the answer, and the answer for its headers. */
  async answer<Data>(
    context: PlatformCallContext,
    send: Send<Client, Data>,
  ): Promise<{ data: Exclude<Data, undefined>; response: Response }> {
    const { operation } = context;
    const { http, client, service, hasCredential, credentialHint } = this.#parts;
    if (!hasCredential) throw new AuthenticationError(`${operation}: ${credentialHint}`, { operation });
    return http.call({ ...context, service }, async (fetch, observer) => {
      const answer = await send(client, fetch).catch((thrown) => {
        if (!(thrown instanceof PathParameterError)) throw thrown;
        throw new InvalidRequestError(`${operation}: ${thrown.message}.`, { operation, cause: thrown });
      });
      const data = readAnswer(answer, { ...context, service });
      observer?.tell({ type: 'answer', data });
      return { data, response: answer.response };
    });
  }
}

/** Where the next page starts, as an answer says; undefined on the last page. */
export function nextTokenOf(response: Response): string | undefined {
  return response.headers.get('x-next-token') || undefined;
}
