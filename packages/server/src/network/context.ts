import type { EgressAuthority } from '@svc/egress';
import type { BaseContext } from '../api/context/context.js';
import type { SigningKeys } from './identity/signing-keys.js';
import type { SandboxEgress, TrafficRecord } from './sandbox-egress.js';

/** The base context with what controls and records the traffic of sandboxes. */
export interface NetworkContext extends BaseContext {
  /** The keys of identity tokens. */
  readonly identity: Pick<SigningKeys, 'signing' | 'published'>;
  /** The certificate authority that signs for hosts with rules, made on first use. */
  authority(): Promise<EgressAuthority>;
  /** The traffic that left sandboxes, and what was refused. */
  readonly traffic: TrafficRecord;
  /** Adds to it what the driver's network refused meanwhile. */
  countPackets(): Promise<void>;
  /** Enforces policies on the connections that leave sandboxes. */
  readonly egress: SandboxEgress;
}

export type Uses<K extends keyof NetworkContext> = Pick<NetworkContext, K>;
