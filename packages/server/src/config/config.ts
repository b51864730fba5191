import type { StorageOptions } from './options.js';
import type { Resolved } from './setting.js';
import type { settings } from './settings.js';

/** Every setting, with its default where none was given. */
export interface ResolvedSettings extends Resolved<typeof settings> {}

type Tuned = ResolvedSettings['tuning'];

/** Settings that use cases read, and what is known only once the server starts. */
export interface ServerConfig
  extends Omit<Tuned, 'connections' | 'builds'>,
    Pick<ResolvedSettings, 'domain' | 'teamLimits' | 'rateLimits' | 'maxSandboxes' | 'diskReserveMiB'> {
  /** Absolute path; the server's own directory, mode 0700. */
  dataDir: string;
  storage: StorageOptions;
  /** Name of this server among those that share a database. */
  nodeId: string;
  /** Version of the daemon that sandboxes get. */
  envdVersion: string;
  /** Base URL of the platform API as clients reach it, without a trailing slash. */
  apiUrl: string;
  /** Base URL that identity tokens name as their issuer. Undefined: `apiUrl`. */
  issuer: string | undefined;
  /** Base URL of the gateway as clients reach it. */
  sandboxUrl: string;
  /** True when sandboxes answer with `domain`, because it is not the one that clients assume. */
  announceDomain: boolean;
  /** Isolation by id of the template, or name of a system template. */
  templateIsolation: Readonly<NonNullable<ResolvedSettings['templateIsolation']>>;
  egress: {
    /** Resolvers that names of sandboxes are looked up at. Undefined: the host's. */
    dns: string[] | undefined;
    /** The sources from which secrets may take their values. */
    providers: { variables: string[]; directories: string[] };
    /** Private ranges that sandboxes may reach all the same. */
    allowRanges: string[];
    /** PEM file of authorities that are trusted upstream beside the well-known ones. */
    trustedRoots: string | undefined;
  };
  builds: Tuned['builds'] & { imageDirectories: string[] };
}
