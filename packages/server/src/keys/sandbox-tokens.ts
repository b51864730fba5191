import type { KeyRing } from './key-ring.js';

/** Token for the daemon of a sandbox: the same over pause, resume and restarts, and stored nowhere. */
export function accessToken(keys: KeyRing, sandboxId: string): string {
  return keys.sign('sandbox-access-token', sandboxId);
}

/** Token for the ports of a sandbox with private ingress. */
export function trafficToken(keys: KeyRing, sandboxId: string): string {
  return keys.sign('sandbox-traffic-token', sandboxId);
}
