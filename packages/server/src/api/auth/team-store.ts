import type { Selectable } from 'kysely';
import type { TeamFlags, TeamLimits } from '../../config/team-limits.js';
import { fromJson } from '../../storage/json.js';
import type { Database, TeamsTable } from '../../storage/schema.js';

export interface Identity {
  team: Team;
  /** `operator` when the operator acts for the team. */
  apiKeyId: string;
  /** The operator acts for the team: its rates do not count. */
  operator?: true;
  /** The expiry of the key, ms since the epoch; null: none. */
  expiresAtMs: number | null;
}

interface Entry {
  identity: Identity;
  readAtMs: number;
  usedAtMs: number | null;
}

interface TeamStoreOptions {
  db: Database;
  now: () => number;
  defaults: TeamLimits;
  /** Time for which a team is cached, ms: a ban by another process takes effect after that time. Default 1000. */
  ttlMs?: number;
}

/** Returns whether a key has expired. Pure. */
export function hasExpired({ expiresAtMs }: Pick<Identity, 'expiresAtMs'>, now: number): boolean {
  return expiresAtMs !== null && expiresAtMs <= now;
}

/** Finds teams by key, keeping the last ones in memory so that a request costs no read. */
export class TeamStore {
  readonly #options: TeamStoreOptions;
  readonly #byHash = new Map<string, Entry>();

  constructor(options: TeamStoreOptions) {
    this.#options = options;
  }

  /** Finds the owner of the key with this hash. */
  async find(hash: string): Promise<Identity | undefined> {
    const now = this.#options.now();
    const known = this.#byHash.get(hash);
    const ttlMs = this.#options.ttlMs ?? 1000;
    if (known !== undefined && Math.abs(now - known.readAtMs) < ttlMs) {
      this.#touch(known, now);
      return known.identity;
    }
    const row = await this.#options.db
      .selectFrom('api_keys')
      .innerJoin('teams', 'teams.id', 'api_keys.team_id')
      .selectAll('teams')
      .select([
        'api_keys.id as api_key_id',
        'api_keys.last_used_at as last_used_at',
        'api_keys.expires_at as expires_at',
      ])
      .where('api_keys.hash', '=', hash)
      .executeTakeFirst();
    if (row === undefined) {
      this.#byHash.delete(hash);
      return undefined;
    }
    const entry: Entry = {
      identity: { team: this.toTeam(row), apiKeyId: row.api_key_id, expiresAtMs: row.expires_at },
      readAtMs: now,
      usedAtMs: row.last_used_at,
    };
    if (this.#byHash.size > 10_000) this.#byHash.clear();
    this.#byHash.set(hash, entry);
    this.#touch(entry, now);
    return entry.identity;
  }

  /** Now, as the store sees it, ms since the epoch. */
  now(): number {
    return this.#options.now();
  }

  async get(teamId: string): Promise<Team | undefined> {
    const row = await this.#options.db
      .selectFrom('teams')
      .selectAll()
      .where('id', '=', teamId)
      .executeTakeFirst();
    return row === undefined ? undefined : this.toTeam(row);
  }

  /** Forgets what is known, after a change to a team or a key. */
  invalidate(): void {
    this.#byHash.clear();
  }

  /** Remembers when a key was last used; one that has expired is not. */
  #touch(entry: Entry, now: number): void {
    if (hasExpired(entry.identity, now)) return;
    const minute = Math.floor(now / 60_000) * 60_000;
    if (entry.usedAtMs !== null && entry.usedAtMs >= minute) return;
    entry.usedAtMs = minute;
    void this.#options.db
      .updateTable('api_keys')
      .set({ last_used_at: minute })
      .where('id', '=', entry.identity.apiKeyId)
      .execute()
      .catch(() => {});
  }

  /** Returns the team of a row, with its effective limits. */
  toTeam(row: Selectable<TeamsTable>): Team {
    return {
      id: row.id,
      slug: row.slug,
      name: row.name,
      limits: { ...this.#options.defaults, ...fromJson(row.limits) },
      flags: { egressProxy: false, ...fromJson(row.flags) },
      banned: row.banned === 1,
      blocked: row.blocked === 1,
      blockedReason: row.blocked_reason,
      createdAtMs: row.created_at,
    };
  }
}

export interface Team {
  id: string;
  slug: string;
  name: string;
  limits: TeamLimits;
  flags: TeamFlags;
  banned: boolean;
  blocked: boolean;
  blockedReason: string | null;
  createdAtMs: number;
}
