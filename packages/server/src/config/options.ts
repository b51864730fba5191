import type { Ids } from './ids.js';
import type { OptionsOf, Resolved } from './setting.js';
import type { settings } from './settings.js';

/** Settings of any source: flags, environment, configuration file. */
export type GivenOptions = OptionsOf<typeof settings>;

type Given = Required<GivenOptions>;
type Stored = Resolved<typeof settings.storage>;

/** Options of a server. Everything has a default but the data directory; `docs/settings.md` lists them. */
export interface ServerOptions extends Omit<GivenOptions, 'dataDir' | 'storage'>, Pick<Given, 'dataDir'> {
  /** The database. Default: SQLite in the data directory. */
  storage?: StorageOptions;
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: () => number;
  /** The source of new identifiers. Default: random ones. */
  ids?: Ids;
}

export interface Tuning extends OptionsOf<typeof settings.tuning> {}
export type LogLevel = Given['logLevel'];

/** The database. */
export type StorageOptions =
  | ({ kind: 'sqlite' } & Pick<Given['storage'], 'file'>)
  | ({ kind: 'postgres'; url: NonNullable<Stored['url']> } & Pick<Given['storage'], 'schema' | 'poolSize'>);
