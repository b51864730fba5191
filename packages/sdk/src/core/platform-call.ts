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

interface CallerParts<Client> {
  pipeline: Pipeline;
  client: Client;
  service: 'platform' | 'operator';
  /** Whether there is a credential: without one nothing is sent. */
  hasCredential: boolean;
  /** What to do without one. */
  credentialHint: string;
}

/** Makes typed calls to the platform or the operator port, through the pipeline and the table of errors. */
export class PlatformCaller<Client = PlatformClient> {
  readonly #parts: CallerParts<Client>;

  constructor(parts: CallerParts<Client>) {
    this.#parts = parts;
  }

  /**
   * Sends one typed request and gives what it answered; a failed answer is thrown as the error of the table.
   *
   * `caller.call(context, (platform, fetch) => platform.GET('/team', { fetch }))`
   */
  async call<Data>(
    context: PlatformCallContext,
    send: (client: Client, fetch: Fetch) => Promise<Answer<Data>>,
  ): Promise<PlatformAnswer<Exclude<Data, undefined>>> {
    const { operation, resource } = context;
    const { pipeline, client, service, hasCredential, credentialHint } = this.#parts;
    if (!hasCredential) throw new AuthenticationError(`${operation}: ${credentialHint}`, { operation });
    return pipeline.call({ ...context, service }, async (fetch) => {
      const { data, error, response } = await send(client, fetch).catch((thrown) => {
        if (!(thrown instanceof PathParameterError)) throw thrown;
        throw new InvalidRequestError(`${operation}: ${thrown.message}.`, { operation, cause: thrown });
      });
      if (response.ok) return { data: data as Exclude<Data, undefined>, response };
      const { status, headers } = response;
      throw errorFromAnswer({
        status,
        headers,
        body: error,
        service,
        operation,
        resource,
        nowMs: Date.now(),
      });
    });
  }
}
