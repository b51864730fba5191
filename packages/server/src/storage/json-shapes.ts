import type { components } from '@svc/platform';
import type { Apartness, Machine } from '@svc/runtime';

export type NetworkConfig = components['schemas']['SandboxNetworkConfig'];

export interface MountConfig {
  name: string;
  path: string;
  volumeId: string;
}

/** What a sandbox was asked to be; stored as JSON, without anything secret. */
export interface SandboxConfig {
  /** As given, lower-cased where hosts are keys; without the proxy's password. */
  network?: NetworkConfig;
  allowInternetAccess: boolean | null;
  autoPause: boolean;
  autoPauseMemory: boolean;
  autoResume: boolean;
  mounts: MountConfig[];
  iam?: components['schemas']['SandboxIam'];
  mcp?: Record<string, unknown>;
  /** From the template, for boots without memory. */
  defaultUser: string | null;
  defaultWorkdir: string | null;
  startCommand: string | null;
  layers: string[];
  /** What keeps it apart from its host, once it has run; before, what is asked for. Absent: the driver's own, or unknown. */
  isolation?: Apartness;
  /** The sandbox that it is a fork of. */
  forkedFrom?: string;
  /** It was stored to go on on another node: whoever has it lets it go on, also after a crash. */
  moving?: true;
}

/** What of a sandbox is stored encrypted. */
export interface SandboxSecrets {
  envVars?: Record<string, string>;
  egressProxyPassword?: string;
}

/** What may be shown of a key. */
export interface ApiKeyMask {
  prefix: string;
  valueLength: number;
  maskedValuePrefix: string;
  maskedValueSuffix: string;
}

/** What is stored in `template_builds.reason`. */
export interface BuildReason {
  message: string;
  step?: string;
}

/** What the deliveries API shows of an attempt. */
export interface AttemptDetail {
  requestUrl: string;
  requestHeaders: Record<string, string>;
  requestBody: string;
  responseHeaders?: Record<string, string>;
  responseBody?: string;
  errorMessage?: string;
}

/** What a node tells the others of itself with each heartbeat. */
export interface NodeReport {
  version: string;
  driver: string;
  /** Of the cluster that its instances are on, if other nodes reach them there. */
  clusterId?: string;
  /** Names what it made there. */
  clusterHolder?: string;
  /** Sandboxes that it runs or is about to, and the most that it may. */
  running: number;
  maxSandboxes: number;
  /** Sandboxes that wait in its pool. */
  pooled: number;
  cpuCount: number;
  /** Programs that run or want to, averaged over a minute. */
  load: number;
  memoryFreeMiB: number;
  memoryTotalMiB: number;
  diskFreeMiB: number;
  /** Requests that count against rates, a second, by group of routes and team. Servers of earlier versions tell none. */
  demand?: Record<string, number>;
  /** What stored memory needs of it. Absent where nothing that it stores can leave it, and in reports of earlier versions. */
  machine?: Machine;
  /** How far a node is that empties itself. */
  moving?: NodeMoving;
}

/** What a node that empties itself still has. */
export interface NodeMoving {
  /** What is on its way, or waits for its turn. */
  sandboxes: number;
  /** Snapshots and builds of templates, likewise. */
  templates: number;
  /** What cannot leave as things are, by the last try; of many only the first are told. */
  stays: StayingObject[];
  /** How many stay. */
  staysTotal: number;
}

export interface StayingObject {
  kind: 'sandbox' | 'template' | 'volume';
  id: string;
  /** A sentence for the operator. */
  reason: string;
}
