import type { ApiKey, CreatedApiKey } from '../api-keys/api-key.js';
import { fromApiKey, fromCreatedApiKey } from '../api-keys/wire.js';
import type { RequestOptions } from '../core/call-context.js';
import { defined, toSeconds } from '../core/wire-values.js';
import type { OperatorCaller } from './operator-caller.js';

/** Keys of teams. A team is named by its id or its slug. */
export class TeamKeys {
  readonly #caller: OperatorCaller;

  /** @internal */
  constructor(caller: OperatorCaller) {
    this.#caller = caller;
  }

  /**
   * Lists all keys of a team, oldest first, masked.
   * @throws NotFoundError when there is no such team
   * @example
   * const keys = await operator.teams.keys.list('research');
   * @wire listTeamApiKeys
   */
  async list(team: string, options: RequestOptions = {}): Promise<ApiKey[]> {
    const data = await this.#caller.call(
      { operation: 'teams.keys.list', resource: 'team', options },
      (operator, fetch) => operator.GET('/teams/{team}/api-keys', { params: { path: { team } }, fetch }),
    );
    return data.map(fromApiKey);
  }

  /**
   * Makes a key of a team. The result is the only place where it is shown.
   * @param name what the key is for, 1 to 128 characters
   * @param options `expiresAt`: when it stops working, in the future; default: never
   * @throws NotFoundError when there is no such team, InvalidRequestError
   * @example
   * const { key } = await operator.teams.keys.create('research', 'notebooks');
   * @wire createTeamApiKey
   */
  async create(
    team: string,
    name: string,
    options: RequestOptions & { expiresAt?: Date | undefined } = {},
  ): Promise<CreatedApiKey> {
    const body = defined({ name, expiresAt: options.expiresAt?.toISOString() });
    const data = await this.#caller.call(
      { operation: 'teams.keys.create', resource: 'team', options },
      (operator, fetch) =>
        operator.POST('/teams/{team}/api-keys', { params: { path: { team } }, body, fetch }),
    );
    return fromCreatedApiKey(data);
  }

  /**
   * Makes the successor of a key, of the same team and with the same name. Both work until the overlap is over.
   * @param options `overlapMs`: how long the old key keeps working, 0 to a year, in whole seconds; default: the server's, a
   * day. `expiresAt`: when the new key stops working; default: never
   * @throws NotFoundError when there is no such key, ConflictError when it has a successor or has expired, InvalidRequestError
   * @example
   * const { key } = await operator.teams.keys.rotate(apiKeyId, { overlapMs: 3_600_000 });
   * @wire rotateApiKey
   */
  async rotate(
    apiKeyId: string,
    options: RequestOptions & { overlapMs?: number | undefined; expiresAt?: Date | undefined } = {},
  ): Promise<CreatedApiKey> {
    const { overlapMs, expiresAt } = options;
    const body = defined({
      overlapSeconds: overlapMs === undefined ? undefined : toSeconds(overlapMs, 'overlapMs'),
      expiresAt: expiresAt?.toISOString(),
    });
    const data = await this.#caller.call(
      { operation: 'teams.keys.rotate', resource: 'apiKey', options },
      (operator, fetch) =>
        operator.POST('/api-keys/{apiKeyID}/rotate', {
          params: { path: { apiKeyID: apiKeyId } },
          body,
          fetch,
        }),
    );
    return fromCreatedApiKey(data);
  }

  /**
   * Deletes a key of a team, which stops working. False when there was none.
   * @throws InvalidRequestError for what is no identifier, such as the key itself
   * @example
   * await operator.teams.keys.delete('research', apiKeyId);
   * @wire deleteTeamApiKey
   */
  delete(team: string, apiKeyId: string, options: RequestOptions = {}): Promise<boolean> {
    const path = { team, apiKeyID: apiKeyId };
    return this.#caller.delete(
      { operation: 'teams.keys.delete', resource: 'apiKey', options },
      (operator, fetch) => operator.DELETE('/teams/{team}/api-keys/{apiKeyID}', { params: { path }, fetch }),
    );
  }
}
