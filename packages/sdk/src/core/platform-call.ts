import { PathParameterError, type PlatformClient } from '@svc/platform';
import { AuthenticationError, InvalidRequestError } from './errors/answer-errors.js';
import { errorFromAnswer } from './errors/from-answer.js';
import type { CallContext } from './pipeline/call-context.js';
import type { Fetch, Pipeline } from './pipeline/pipeline.js';

/** What the generated clients answer. */
interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** A successful answer of the platform. */
export interface PlatformAnswer<Data> {
  data: Data;
  response: Response;
}

/** A call to the platform: everything but who is asked. */
export type PlatformCallContext = Omit<CallContext, 'service'>;

/** Makes typed calls to the platform, through the pipeline and the table of errors. */
export class PlatformCaller {
  readonly #pipeline: Pipeline;
  readonly #client: PlatformClient;
  readonly #apiKey: string | undefined;

  constructor(parts: { pipeline: Pipeline; client: PlatformClient; apiKey: string | undefined }) {
    this.#pipeline = parts.pipeline;
    this.#client = parts.client;
    this.#apiKey = parts.apiKey;
  }

  /**
   * Sends one typed request and gives what it answered; a failed answer is thrown as the error of the table.
   *
   * `caller.call(context, (platform, fetch) => platform.GET('/team', { fetch }))`
   */
  async call<Data>(
    context: PlatformCallContext,
    send: (platform: PlatformClient, fetch: Fetch) => Promise<Answer<Data>>,
  ): Promise<PlatformAnswer<Exclude<Data, undefined>>> {
    const { operation, resource } = context;
    if (this.#apiKey === undefined) {
      throw new AuthenticationError(
        `${operation}: no API key. Set SVC_API_KEY, or give the apiKey option: new Client({ apiKey }).`,
        { operation },
      );
    }
    return this.#pipeline.call({ ...context, service: 'platform' }, async (fetch) => {
      const { data, error, response } = await send(this.#client, fetch).catch((thrown) => {
        if (!(thrown instanceof PathParameterError)) throw thrown;
        throw new InvalidRequestError(`${operation}: ${thrown.message}.`, { operation, cause: thrown });
      });
      if (response.ok) return { data: data as Exclude<Data, undefined>, response };
      const { status, headers } = response;
      throw errorFromAnswer({
        status,
        headers,
        body: error,
        service: 'platform',
        operation,
        resource,
        nowMs: Date.now(),
      });
    });
  }
}
