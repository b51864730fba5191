/** `ready` and `uploaded` are usable, `error` is not; these three are final. */
export type BuildStatus = 'waiting' | 'building' | 'ready' | 'error' | 'uploaded';

/** A template as lists show it, with the facts of its newest build. */
export interface TemplateInfo {
  readonly templateId: string;
  /** The newest build. */
  readonly buildId: string;
  readonly buildStatus: BuildStatus;
  readonly cpuCount: number;
  readonly memoryMiB: number;
  readonly diskMiB: number;
  /** True when every team may use it. */
  readonly public: boolean;
  readonly aliases: string[];
  /** `namespace/alias`. */
  readonly names: string[];
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Undefined before the first use. */
  readonly lastSpawnedAt: Date | undefined;
  readonly spawnCount: number;
  readonly buildCount: number;
  readonly envdVersion: string;
  readonly createdBy: { readonly id: string; readonly email: string } | undefined;
}

/** One build of a template. */
export interface BuildInfo {
  readonly buildId: string;
  readonly status: BuildStatus;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Undefined until the build is final. */
  readonly finishedAt: Date | undefined;
  readonly cpuCount: number;
  readonly memoryMiB: number;
  readonly diskMiB: number | undefined;
  readonly envdVersion: string | undefined;
}

/** A template and a page of its builds. */
export interface TemplateDetail
  extends Pick<
    TemplateInfo,
    'templateId' | 'public' | 'aliases' | 'names' | 'createdAt' | 'updatedAt' | 'lastSpawnedAt' | 'spawnCount'
  > {
  /** Newest first. */
  readonly builds: BuildInfo[];
  /** Where the next page of builds starts; undefined on the last. */
  readonly nextToken: string | undefined;
}

/** A name that points to a build. */
export interface TemplateTag {
  readonly tag: string;
  readonly buildId: string;
  readonly createdAt: Date;
}

/** Something that a build said. */
export interface BuildLogEntry {
  readonly timestamp: Date;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  /** `base`, the number of the instruction from 1, or `finalize`. */
  readonly step: string | undefined;
}

/** The state of a build. */
export interface BuildState {
  readonly templateId: string;
  readonly buildId: string;
  readonly status: BuildStatus;
  /** Why it is in its state, when there is something to say. */
  readonly reason:
    | { readonly message: string; readonly step: string | undefined; readonly logEntries: BuildLogEntry[] }
    | undefined;
}
