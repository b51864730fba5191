import type { BaseRoot, Isolation } from '@svc/runtime/contract';
import type { DriverName } from '@svc/runtime/host';
/** Options of `server up`. */
export interface UpFlags {
  config?: string;
  dataDir?: string;
  host?: string;
  port?: number;
  sandboxPort?: number;
  operatorPort?: number | false;
  domain?: string;
  publicApiUrl?: string;
  publicSandboxUrl?: string;
  driver?: DriverName | 'auto';
  user?: string;
  ociRuntime?: string;
  baseRoot?: BaseRoot;
  isolation?: Isolation;
  trialStart?: boolean;
  poolSize?: number;
  poolMemory?: number;
  maxSandboxes?: number;
  teamMaxSandboxes?: number;
  rateLimit?: string;
  createRateLimit?: string;
  postgresUrl?: string;
  allowPrivateWebhooks?: boolean;
  logLevel?: 'silent' | 'error' | 'warn' | 'info' | 'debug';
  killSandboxesOnStop?: boolean;
  detach?: boolean;
}
