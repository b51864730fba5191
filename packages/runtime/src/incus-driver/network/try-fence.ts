import { DriverError } from '../../contract/errors.js';
import type { CardMode } from './card-name.js';
import { judgeFence } from './judge-fence.js';
import {
  attemptsOfClosed,
  attemptsOfOpen,
  type ReachAttempt,
  reachCommand,
  readAnswered,
} from './reach-attempts.js';

/** A sandbox of nobody's, made of the template base: what runs inside is known. */
export interface FenceProbe {
  address: string;
  /** Runs a program inside to its end, without the network. @returns its exit code */
  run(command: readonly string[]): Promise<number>;
  destroy(): Promise<void>;
}

/**
 * Tries from inside two probes on one member whether its fence works: one has no network access, the other one shows that there
 * would be something to reach.
 * @returns what is wrong; undefined: it holds
 * @throws what kept a probe from being made
 */
export async function tryFence(
  makeProbe: (mode: CardMode) => Promise<FenceProbe>,
): Promise<string | undefined> {
  const made = await Promise.allSettled([makeProbe('none'), makeProbe('internet')]);
  const probes = made.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  try {
    const [closed, open] = made;
    if (open.status === 'rejected') throw open.reason;
    if (closed.status === 'rejected') {
      if (!isSilent(closed.reason)) throw closed.reason;
      return 'a sandbox without network access does not answer the server: its address is not among svc_servers';
    }
    const [closedReached, openReached] = await Promise.all([
      reached(closed.value, attemptsOfClosed(open.value.address)),
      reached(open.value, attemptsOfOpen(closed.value.address)),
    ]);
    return judgeFence({ closed: closedReached, open: openReached });
  } finally {
    await Promise.all(probes.map((probe) => probe.destroy()));
  }
}

/** Returns true if a probe could be made but never answered. */
function isSilent(error: unknown): boolean {
  return DriverError.is(error) && error.code === 'create_failed';
}

async function reached(probe: FenceProbe, attempts: readonly ReachAttempt[]): Promise<string[] | undefined> {
  return readAnswered(attempts, await probe.run(reachCommand(attempts)));
}
