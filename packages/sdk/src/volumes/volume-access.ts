import { createVolumesClient, type VolumesClient } from '@svc/platform';
import type { ClientCore } from '../calls/client-core.js';
import { deleteOnce } from '../calls/delete-once.js';
import { type Answer, readAnswer } from '../calls/read-answer.js';
import type { CallContext, RequestOptions } from '../core/call-context.js';
import type { Deadline } from '../core/deadline.js';
import type { Fetch } from '../core/middleware.js';
import { AuthenticationError } from '../errors/answer-errors.js';
import type { VolumeInfo } from './volume-info.js';

/** A token that opens the content of a volume. */
export interface VolumeGrant extends VolumeInfo {
  readonly token: string;
  /** Host of the content API when it is not the platform's. */
  readonly domain: string | undefined;
}

/** Reads a fresh grant. */
export type Renew = (options: RequestOptions) => Promise<VolumeGrant>;

/** A call about what is in a volume. */
type VolumeCallContext = Omit<CallContext, 'service' | 'resource'>;

/** Sends one typed request. */
type Send<Data> = (volumes: VolumesClient, fetch: Fetch, path: { volumeID: string }) => Promise<Answer<Data>>;

/** Time that a token is used before a new one is asked for, ms. It lives for an hour. */
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
  async call<Data>(context: VolumeCallContext, send: Send<Data>): Promise<Exclude<Data, undefined>> {
    const { value, deadline } = await this.open(context, send);
    deadline.release();
    return value;
  }

  /** Deletes something: false when there was none. */
  delete(context: VolumeCallContext, send: Send<unknown>): Promise<boolean> {
    return deleteOnce(context, (observed) => this.call(observed, send));
  }

  /** As `call`, for an answer that continues as a stream: release the deadline at its end. */
  async open<Data>(
    context: VolumeCallContext,
    send: Send<Data>,
    once = false,
  ): Promise<{ value: Exclude<Data, undefined>; deadline: Deadline }> {
    const attempt = async () => {
      const grant = await this.#current(context.options ?? {});
      const full = { ...context, service: 'volumes', resource: 'volume' } as const;
      return this.core.http.open(full, async (fetch) => {
        const volumes = createVolumesClient({ baseUrl: this.#baseUrl(grant), token: grant.token, fetch });
        return readAnswer(await send(volumes, fetch, { volumeID: this.volumeId }), full);
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
