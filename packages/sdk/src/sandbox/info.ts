import type { NetworkOptions, SandboxState } from './options.js';

/** A sandbox as lists show it. */
export interface SandboxInfo {
  readonly sandboxId: string;
  /** Id of the template that it was created from. */
  readonly templateId: string;
  /** First name of the template, if it has one. */
  readonly alias: string | undefined;
  readonly state: SandboxState;
  /** When the current run, of a paused sandbox the last one, became ready. */
  readonly startedAt: Date;
  /** When the time to live ends; of a paused sandbox, when it was paused. */
  readonly endAt: Date;
  readonly cpuCount: number;
  readonly memoryMiB: number;
  readonly diskMiB: number;
  /** The sandbox that it is a fork of, which may be deleted; undefined when it is none, and for forks of older servers. */
  readonly forkedFrom: string | undefined;
  /** Version of the daemon inside. */
  readonly envdVersion: string;
  /** Empty when there is none. */
  readonly metadata: Record<string, string>;
  /** Names of mounted volumes by path. */
  readonly volumeMounts: Record<string, string>;
}

/** Everything that can be read about one sandbox. */
export interface SandboxDetail extends SandboxInfo {
  readonly lifecycle: { readonly onTimeout: 'pause' | 'kill'; readonly autoResume: boolean };
  /**
   * The isolation level. `container`: namespaces on the machine's kernel; `gvisor`, `vm`: a kernel of its own; `none`: it is a plain
   * process. Undefined: the server does not say.
   */
  readonly isolation: 'none' | 'container' | 'gvisor' | 'vm' | undefined;
  /** As it was created; undefined when it was not set. */
  readonly allowInternetAccess: boolean | undefined;
  /** Without the password of a proxy. */
  readonly network: NetworkOptions | undefined;
  /** Domain of its own, if any. */
  readonly domain: string | undefined;
}

/** One sample of what a sandbox uses. Taken about every 5 s and kept for 7 days. */
export interface SandboxMetrics {
  readonly timestamp: Date;
  readonly cpuCount: number;
  /** Share of all cores in use, percent, 0 to 100. */
  readonly cpuUsedPercent: number;
  readonly memoryUsedBytes: number;
  readonly memoryTotalBytes: number;
  readonly memoryCacheBytes: number;
  readonly diskUsedBytes: number;
  readonly diskTotalBytes: number;
}

/** Something that a program in a sandbox printed, or the service has to say about it. */
export interface LogEntry {
  readonly timestamp: Date;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Record<string, string>;
}

/** Connections that left a sandbox, or did not. */
export interface EgressCounts {
  /** Connections, or requests where each is decided. */
  readonly allowed: number;
  /** Connections, requests, names, and packets that the network refused. */
  readonly denied: number;
  /** Allowed, but nothing came of it. */
  readonly failed: number;
  readonly bytesSent: number;
  readonly bytesReceived: number;
}

/** Traffic to one place. */
export interface EgressDestination extends EgressCounts {
  /** Name that was asked for, in lower case; undefined: none was. */
  readonly host: string | undefined;
  /** Where the last connection was going; undefined for names that were only looked up, and for packets that the network refused. */
  readonly address: string | undefined;
  readonly port: number;
  /** The rule that decided last, such as `allowOut[2] *.example.com`, or the reason of a failure or refusal, such as `not TCP`. */
  readonly rule: string;
  readonly lastAt: Date;
}

/** Traffic that left a sandbox with a network policy. */
export interface SandboxEgress {
  readonly totals: EgressCounts;
  /** At most the 100 seen last, the last first. */
  readonly destinations: readonly EgressDestination[];
  /** Destinations that are counted in the totals alone. */
  readonly dropped: number;
}
