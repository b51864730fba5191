import type { components } from '@svc/platform';
import type { IsolationLevel, Machine } from '@svc/runtime/contract';

export type NetworkConfig = components['schemas']['SandboxNetworkConfig'];

export interface MountConfig {
  name: string;
  path: string;
  volumeId: string;
}

/** The requested configuration of a sandbox; stored as JSON, without anything secret. */
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
  /** Defaults of the template, for boots without memory. */
  defaultUser: string | null;
  defaultWorkdir: string | null;
  startCommand: string | null;
  layers: string[];
  /** Its isolation, once it has run; before, the requested one. Absent: the driver's own, or unknown. */
  isolation?: IsolationLevel;
  /** The sandbox that it is a fork of. */
  forkedFrom?: string;
  /** It was stored for a move to another node: the node that has it resumes it, also after a crash. */
  moving?: true;
}

/** The parts of a sandbox that are stored encrypted. */
export interface SandboxSecrets {
  envVars?: Record<string, string>;
  egressProxyPassword?: string;
}

/** The parts of a key that may be shown. */
export interface ApiKeyMask {
  prefix: string;
  valueLength: number;
  maskedValuePrefix: string;
  maskedValueSuffix: string;
}

/** Content of `template_builds.reason`. */
export interface BuildReason {
  message: string;
  step?: string;
}

/** The details of an attempt in the deliveries API. */
export interface AttemptDetail {
  requestUrl: string;
  requestHeaders: Record<string, string>;
  requestBody: string;
  responseHeaders?: Record<string, string>;
  responseBody?: string;
  errorMessage?: string;
}

/** The report of a node to the others with each heartbeat. */
export interface NodeReport {
  version: string;
  driver: string;
  /** The cluster that its instances are on, if other nodes reach them there. */
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
  /** Requests that count against rates, a second, by group of routes and team. Servers of earlier versions report none. */
  demand?: Record<string, number>;
  /** The properties of the machine that stored memory needs. Absent where nothing that it stores can leave it, and in reports of earlier versions. */
  machine?: Machine;
  /** The progress of a node that empties itself. */
  moving?: NodeMoving;
}

/** The sandboxes and builds that a node that empties itself still has. */
export interface NodeMoving {
  /** The number of those that move or wait to be moved. */
  sandboxes: number;
  /** Snapshots and builds of templates, likewise. */
  templates: number;
  /** Those that cannot leave at present, by the last try; of many only the first. */
  stays: StayingObject[];
  /** The number of those that stay. */
  staysTotal: number;
}

export interface StayingObject {
  kind: 'sandbox' | 'template' | 'volume';
  id: string;
  /** A sentence for the operator. */
  reason: string;
}
