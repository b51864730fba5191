import type { Isolation } from '../contract/capabilities.js';
import type { Tools } from '../host/tools.js';
import { containerTier } from './container/container-tier.js';
import { gvisorTier } from './gvisor/gvisor-tier.js';
import type { LinuxHost } from './host/linux-host.js';
import type { OciTier } from './tiers/tier.js';

export type Tiers = Readonly<Record<Isolation, OciTier>>;

/** Every tier: instances and checkpoints of one outlive a server that makes new ones with another. */
export function makeTiers(host: LinuxHost, tools: Tools): Tiers {
  return { container: containerTier(host, tools.criuProblem), gvisor: gvisorTier(host, tools) };
}
