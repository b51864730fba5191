import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import type { PageList } from '../core/page.js';
import { defined } from '../core/wire-values.js';
import type { NewSecret, Secret } from './secret.js';
import { fromSecret } from './wire.js';

const resource = 'secret' as const;

/** The secrets of the team. Values go in and never come out. */
export class Secrets {
  readonly #core: ClientCore;

  /** @internal */
  constructor(core: ClientCore) {
    this.#core = core;
  }

  /**
   * Stores a secret as its version 1.
   * @throws ConflictError when the name is taken, or (errorCode `secret_limit_reached`) the team has too many
   * @example
   * await client.secrets.create({ name: 'openai', value: key });
   * @wire createSecret
   */
  async create(secret: NewSecret, options: RequestOptions = {}): Promise<Secret> {
    const { name, value, metadata } = secret;
    const body = defined({ name, value, metadata });
    const data = await this.#core.platform.call(
      { operation: 'secrets.create', resource, options },
      (platform, fetch) => platform.POST('/secrets', { body, fetch }),
    );
    return fromSecret(data);
  }

  /**
   * Reads what is known about a secret.
   * @param idOrName its `sec_` identifier, or its name
   * @throws SecretNotFoundError
   * @example
   * const { currentVersion } = await client.secrets.get('openai');
   * @wire getSecret
   */
  async get(idOrName: string, options: RequestOptions = {}): Promise<Secret> {
    const data = await this.#core.platform.call(
      { operation: 'secrets.get', resource, options },
      (platform, fetch) =>
        platform.GET('/secrets/{secretID}', { params: { path: { secretID: idOrName } }, fetch }),
    );
    return fromSecret(data);
  }

  /**
   * Lists secrets, newest first: await a page, or iterate over all.
   * @example
   * for await (const { name } of client.secrets.list()) console.log(name);
   * @wire listSecrets
   */
  list(
    options: RequestOptions & { limit?: number | undefined; nextToken?: string | undefined } = {},
  ): PageList<Secret> {
    return this.#core.platform.list(
      { operation: 'secrets.list', options },
      (platform, fetch, nextToken) =>
        platform.GET('/secrets', { params: { query: defined({ limit: options.limit, nextToken }) }, fetch }),
      fromSecret,
    );
  }

  /**
   * Stores a new version, which is served from then on.
   * @param change `metadata` replaces all pairs; left out, they are kept
   * @throws SecretNotFoundError
   * @example
   * await client.secrets.update('openai', { value: key });
   * @wire updateSecret
   */
  async update(
    idOrName: string,
    change: { value: string; metadata?: Record<string, string> | undefined },
    options: RequestOptions = {},
  ): Promise<Secret> {
    const { value, metadata } = change;
    const body = defined({ value, metadata });
    const data = await this.#core.platform.call(
      { operation: 'secrets.update', resource, options },
      (platform, fetch) =>
        platform.POST('/secrets/{secretID}', { params: { path: { secretID: idOrName } }, body, fetch }),
    );
    return fromSecret(data);
  }

  /**
   * Revokes all versions and frees the name. False when there was none.
   * @example
   * await client.secrets.delete('openai');
   * @wire deleteSecret
   */
  delete(idOrName: string, options: RequestOptions = {}): Promise<boolean> {
    return this.#core.platform.delete({ operation: 'secrets.delete', resource, options }, (platform, fetch) =>
      platform.DELETE('/secrets/{secretID}', { params: { path: { secretID: idOrName } }, fetch }),
    );
  }
}
