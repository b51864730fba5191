import type { GatewayStats, RefusalReason } from './contract.js';
import { refusalReasons } from './refusal.js';

/** Counters at zero. */
export function createStats(): GatewayStats {
  return {
    requests: 0,
    upgrades: 0,
    openRequests: 0,
    openUpgrades: 0,
    refusals: Object.fromEntries(refusalReasons.map((reason) => [reason, 0])) as Record<
      RefusalReason,
      number
    >,
    clientAborts: 0,
    upstreamAborts: 0,
    closedExchanges: 0,
    autoResumes: 0,
    dials: 0,
    dialRetries: 0,
    dialFailures: 0,
    reusedConnections: 0,
    idleConnections: 0,
    requestBytes: 0,
    responseBytes: 0,
  };
}
