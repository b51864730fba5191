import type { KeyRing } from '../../storage/keys/key-ring.js';

/**
 * Derives the token of clients for the daemon of a sandbox: the same over pause, resume and restarts, and stored nowhere. It never
 * enters the sandbox: the gateway checks it and sends the daemon's own token instead.
 */
export function accessToken(keys: KeyRing, sandboxId: string): string {
  return keys.sign('sandbox-client-token', sandboxId);
}

/** Whose daemon, and how often its token was changed. */
export interface DaemonGeneration {
  id: string;
  daemon_generation: number;
}

/** Derives the token that the daemon itself asks for, known to this server and that daemon alone. Each generation has another. */
export function daemonToken(keys: KeyRing, { id, daemon_generation }: DaemonGeneration): string {
  return keys.sign('sandbox-daemon-token', `${id} ${daemon_generation}`);
}

/** The token of the next generation, for daemons that may have it already. */
export function nextDaemonToken(keys: KeyRing, { id, daemon_generation }: DaemonGeneration): string {
  return daemonToken(keys, { id, daemon_generation: daemon_generation + 1 });
}

/** The only token in a memory image: it opens the daemon in copies of this checkpoint, until they get their own. */
export function imageToken(keys: KeyRing, checkpointId: string): string {
  return keys.sign('checkpoint-image-token', checkpointId);
}

/** Token for the ports of a sandbox with private ingress. */
export function trafficToken(keys: KeyRing, sandboxId: string): string {
  return keys.sign('sandbox-traffic-token', sandboxId);
}
