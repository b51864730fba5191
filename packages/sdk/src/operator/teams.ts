import type { RequestOptions } from '../core/call-context.js';
import type { PageList } from '../core/page.js';
import { defined } from '../core/wire-values.js';
import type { OperatorCaller } from './operator-caller.js';
import type { NewTeam, OperatedTeam, TeamChange } from './team.js';
import { TeamKeys } from './team-keys.js';
import type { TeamUsage } from './team-usage.js';
import { fromOperatedTeam, fromTeamUsage, toTeamSettings } from './wire.js';

const resource = 'team' as const;

/** The teams of a server. A team is named by its id or its slug. */
export class Teams {
  /** Keys of teams. */
  readonly keys: TeamKeys;
  readonly #caller: OperatorCaller;

  /** @internal */
  constructor(caller: OperatorCaller) {
    this.#caller = caller;
    this.keys = new TeamKeys(caller);
  }

  /**
   * Lists teams, oldest first: await a page, or iterate over all.
   * @param options `limit`: teams on a page, 1 to 100; default: the server's, 100
   * @example
   * for await (const team of operator.teams.list()) console.log(team.slug, team.banned);
   * @wire listTeams
   */
  list(
    options: RequestOptions & { limit?: number | undefined; nextToken?: string | undefined } = {},
  ): PageList<OperatedTeam> {
    return this.#caller.list(
      { operation: 'teams.list', options },
      (operator, fetch, nextToken) =>
        operator.GET('/teams', { params: { query: defined({ limit: options.limit, nextToken }) }, fetch }),
      fromOperatedTeam,
    );
  }

  /**
   * Makes a team, without a key.
   * @throws InvalidRequestError, ConflictError when the slug is taken
   * @example
   * const team = await operator.teams.create({ slug: 'research', limits: { maxConcurrentSandboxes: 20 } });
   * @wire createTeam
   */
  async create(team: NewTeam, options: RequestOptions = {}): Promise<OperatedTeam> {
    const body = { ...toTeamSettings(team), slug: team.slug };
    const data = await this.#caller.call(
      { operation: 'teams.create', resource, options },
      (operator, fetch) => operator.POST('/teams', { body, fetch }),
    );
    return fromOperatedTeam(data);
  }

  /**
   * Reads a team with the limits that hold for it.
   * @throws NotFoundError
   * @example
   * const { limits } = await operator.teams.get('research');
   * @wire getTeam
   */
  async get(idOrSlug: string, options: RequestOptions = {}): Promise<OperatedTeam> {
    const data = await this.#caller.call({ operation: 'teams.get', resource, options }, (operator, fetch) =>
      operator.GET('/teams/{team}', { params: { path: { team: idOrSlug } }, fetch }),
    );
    return fromOperatedTeam(data);
  }

  /**
   * Reads what a team takes now, and what it used hour by hour.
   * @param options `from`, `until`: hours that begin in this span; default: the last day
   * @throws NotFoundError
   * @example
   * const { use, hours } = await operator.teams.usage('research', { from: new Date(Date.now() - 7 * 86_400_000) });
   * @wire getTeamUsage
   */
  async usage(
    idOrSlug: string,
    options: RequestOptions & { from?: Date | undefined; until?: Date | undefined } = {},
  ): Promise<TeamUsage> {
    const query = defined({ from: options.from?.toISOString(), until: options.until?.toISOString() });
    const data = await this.#caller.call({ operation: 'teams.usage', resource, options }, (operator, fetch) =>
      operator.GET('/teams/{team}/usage', { params: { path: { team: idOrSlug }, query }, fetch }),
    );
    return fromTeamUsage(data);
  }

  /**
   * Changes what is given and keeps the rest. It applies at once; lower limits end nothing that runs.
   * @throws NotFoundError, InvalidRequestError
   * @example
   * await operator.teams.update('research', { limits: { maxTimeoutMs: 3_600_000, maxSecrets: null } });
   * @wire updateTeam
   */
  update(idOrSlug: string, change: TeamChange, options: RequestOptions = {}): Promise<OperatedTeam> {
    return this.#change('teams.update', idOrSlug, toTeamSettings(change), options);
  }

  /**
   * Refuses every request of a team. Its sandboxes keep running.
   * @throws NotFoundError
   * @example
   * await operator.teams.ban('research');
   * @wire updateTeam
   */
  ban(idOrSlug: string, options: RequestOptions = {}): Promise<OperatedTeam> {
    return this.#change('teams.ban', idOrSlug, { banned: true }, options);
  }

  /**
   * Ends a ban.
   * @throws NotFoundError
   * @example
   * await operator.teams.unban('research');
   * @wire updateTeam
   */
  unban(idOrSlug: string, options: RequestOptions = {}): Promise<OperatedTeam> {
    return this.#change('teams.unban', idOrSlug, { banned: false }, options);
  }

  /**
   * Lets a team only read and delete. Its sandboxes keep running.
   * @param options `reason`: shown to the team, 1 to 500 characters; without one an earlier reason is removed
   * @throws NotFoundError
   * @example
   * await operator.teams.block('research', { reason: 'the invoice is open' });
   * @wire updateTeam
   */
  block(
    idOrSlug: string,
    options: RequestOptions & { reason?: string | undefined } = {},
  ): Promise<OperatedTeam> {
    const change = { blocked: true, blockedReason: options.reason ?? null };
    return this.#change('teams.block', idOrSlug, change, options);
  }

  /**
   * Ends a block, and forgets its reason.
   * @throws NotFoundError
   * @example
   * await operator.teams.unblock('research');
   * @wire updateTeam
   */
  unblock(idOrSlug: string, options: RequestOptions = {}): Promise<OperatedTeam> {
    return this.#change('teams.unblock', idOrSlug, { blocked: false }, options);
  }

  async #change(
    operation: string,
    team: string,
    body: ReturnType<typeof toTeamSettings>,
    options: RequestOptions,
  ): Promise<OperatedTeam> {
    const data = await this.#caller.call(
      { operation, resource, idempotent: true, options },
      (operator, fetch) => operator.PATCH('/teams/{team}', { params: { path: { team } }, body, fetch }),
    );
    return fromOperatedTeam(data);
  }
}
