import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import { defined } from '../core/wire-values.js';
import type { ApiKey, CreatedApiKey } from './api-key.js';
import { fromApiKey, fromCreatedApiKey } from './wire.js';

const resource = 'apiKey' as const;

/** The keys of the team. Every key of a team may do the same. */
export class ApiKeys {
  readonly #core: ClientCore;

  /** @internal */
  constructor(core: ClientCore) {
    this.#core = core;
  }

  /**
   * Lists all keys, oldest first, masked.
   * @example
   * const unused = (await client.apiKeys.list()).filter(({ lastUsedAt }) => lastUsedAt === undefined);
   * @wire listApiKeys
   */
  async list(options: RequestOptions = {}): Promise<ApiKey[]> {
    const data = await this.#core.platform.call({ operation: 'apiKeys.list', options }, (platform, fetch) =>
      platform.GET('/api-keys', { fetch }),
    );
    return data.map(fromApiKey);
  }

  /**
   * Makes a key. The result is the only place where it is shown.
   * @param name what the key is for, 1 to 128 characters
   * @param options `expiresAt`: when it stops working, in the future; default: never
   * @throws InvalidRequestError for a bad name, PermissionError for a blocked team
   * @example
   * const { key, apiKeyId } = await client.apiKeys.create('build server');
   * @wire createApiKey
   */
  async create(
    name: string,
    options: RequestOptions & { expiresAt?: Date | undefined } = {},
  ): Promise<CreatedApiKey> {
    const body = defined({ name, expiresAt: options.expiresAt?.toISOString() });
    const data = await this.#core.platform.call(
      { operation: 'apiKeys.create', resource, options },
      (platform, fetch) => platform.POST('/api-keys', { body, fetch }),
    );
    return fromCreatedApiKey(data);
  }

  /**
   * Deletes a key, which stops working at once; a key may delete itself. False when there was none.
   * @throws InvalidRequestError for what is no identifier, such as the key itself
   * @example
   * await client.apiKeys.delete(apiKeyId);
   * @wire deleteApiKey
   */
  delete(apiKeyId: string, options: RequestOptions = {}): Promise<boolean> {
    return this.#core.platform.delete({ operation: 'apiKeys.delete', resource, options }, (platform, fetch) =>
      platform.DELETE('/api-keys/{apiKeyID}', { params: { path: { apiKeyID: apiKeyId } }, fetch }),
    );
  }
}
