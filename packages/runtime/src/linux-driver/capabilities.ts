import { basename } from 'node:path';
import type { Capabilities } from '../contract/capabilities.js';
import type { Tools } from '../host/tools.js';
import type { LinuxHost } from './host/linux-host.js';
import type { OciTier } from './tiers/tier.js';

/** The abilities of the driver on this host, with the reasons for missing ones. */
export function capabilitiesOf(host: LinuxHost, tier: OciTier): Capabilities {
  const reasons: string[] = [];
  if (!host.store.quota)
    reasons.push(host.store.problem ?? 'The store has no quotas: disk limits are not enforced.');
  if (tier.memoryProblem !== undefined) reasons.push(tier.memoryProblem);
  if (host.network.egressProblem !== undefined) reasons.push(host.network.egressProblem);
  if (host.egress !== undefined && host.governProblem !== undefined)
    reasons.push(`No egress policies: ${host.governProblem}`);
  if (tier.ownIds && host.idsProblem !== undefined) reasons.push(host.idsProblem);
  if (host.bases.current === undefined)
    reasons.push(
      'The root file system of the template base is not built: svc server doctor --fix builds it.',
    );
  reasons.push(...host.limitProblems);
  return {
    isolation: tier.isolation,
    limits: true,
    diskLimit: host.store.quota,
    memorySnapshot: tier.memoryProblem === undefined,
    mounts: true,
    networkIsolation: true,
    egressPolicy: host.governProblem === undefined,
    layers: 'rootfs',
    users: true,
    reasons,
  };
}

/** One line for the operator. */
export function summaryOf(host: LinuxHost, tools: Tools, { isolation }: OciTier): string {
  if (isolation === 'gvisor') return `linux: gVisor (${tools.runscVersion}), store on ${host.store.kind}`;
  const memory = tools.criu === undefined ? 'no memory snapshots' : `CRIU ${tools.criuVersion}`;
  const starter = tools.starter === tools.runtime ? '' : ` with ${basename(tools.starter)} to start`;
  return `linux: ${tools.runtimeVersion}${starter}, base ${host.bases.current ?? 'missing'}, store on ${host.store.kind}, ${memory}`;
}
