import { createVolumesClient, type VolumesClient } from '@svc/platform';
import type { ClientCore } from '../core/client-core.js';
import type { Deadline } from '../core/deadline.js';
import { AuthenticationError } from '../core/errors/answer-errors.js';
import { errorFromAnswer } from '../core/errors/from-answer.js';
import type { CallContext, RequestOptions } from '../core/pipeline/call-context.js';
import type { Fetch } from '../core/pipeline/pipeline.js';
import type { VolumeInfo } from './volume-info.js';

/** What opens the content of a volume. */
export interface VolumeGrant extends VolumeInfo {
  readonly token: string;
  /** Host of the content API when it is not the platform's. */
  readonly domain: string | undefined;
}

/** Reads a fresh grant. */
export type Renew = (options: RequestOptions) => Promise<VolumeGrant>;

interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** How long a token is used before a new one is asked for, ms. It lives for an hour. */
const freshForMs = 50 * 60_000;

/** Calls to the content of one volume. Its token is renewed in time, and once more when it is refused. */
export class VolumeAccess {
  readonly core: ClientCore;
  readonly volumeId: string;
  readonly #renew: Renew;
  #grant: { value: Promise<VolumeGrant>; at: number } | undefined;

  constructor(core: ClientCore, info: VolumeInfo, renew: Renew, grant?: VolumeGrant) {
    this.core = core;
    this.volumeId = info.volumeId;
    this.#renew = renew;
    if (grant) this.#grant = { value: Promise.resolve(grant), at: Date.now() };
  }

  /** Makes a call whose answer is complete when it returns. */
  async call<Data>(
    context: Omit<CallContext, 'service' | 'resource'>,
    send: (volumes: VolumesClient, fetch: Fetch, path: { volumeID: string }) => Promise<Answer<Data>>,
  ): Promise<Exclude<Data, undefined>> {
    const { value, deadline } = await this.open(context, send);
    deadline.release();
    return value;
  }

  /** As `call`, for an answer that goes on streaming: release the deadline at its end. */
  async open<Data>(
    context: Omit<CallContext, 'service' | 'resource'>,
    send: (volumes: VolumesClient, fetch: Fetch, path: { volumeID: string }) => Promise<Answer<Data>>,
    once = false,
  ): Promise<{ value: Exclude<Data, undefined>; deadline: Deadline }> {
    const attempt = async () => {
      const grant = await this.#current(context.options ?? {});
      const full = { ...context, service: 'volumes', resource: 'volume' } as const;
      return this.core.pipeline.open(full, async (fetch) => {
        const volumes = createVolumesClient({ baseUrl: this.#baseUrl(grant), token: grant.token, fetch });
        const { data, error, response } = await send(volumes, fetch, { volumeID: this.volumeId });
        if (response.ok) return data as Exclude<Data, undefined>;
        const { status, headers } = response;
        throw errorFromAnswer({ ...full, status, headers, body: error, nowMs: Date.now() });
      });
    };
    try {
      return await attempt();
    } catch (error) {
      if (once || !AuthenticationError.is(error)) throw error;
      this.#grant = undefined;
      return attempt();
    }
  }

  #current(options: RequestOptions): Promise<VolumeGrant> {
    if (!this.#grant || Date.now() - this.#grant.at > freshForMs) {
      const grant = { value: this.#renew(options), at: Date.now() };
      this.#grant = grant;
      grant.value.catch(() => {
        if (this.#grant === grant) this.#grant = undefined;
      });
    }
    return this.#grant.value;
  }

  #baseUrl({ domain }: VolumeGrant): string {
    const { apiUrl } = this.core.config;
    return domain === undefined ? apiUrl : `${new URL(apiUrl).protocol}//${domain}`;
  }
}
