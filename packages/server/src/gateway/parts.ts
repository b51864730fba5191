import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ConnectOptions } from './connector.js';
import type { GatewayDeps, GatewayLog, GatewayStats } from './contract.js';
import type { Exchanges } from './exchanges.js';
import type { Pools } from './pools.js';
import type { Refusal } from './refusal.js';
import type { GatewaySettings } from './settings.js';

/** State that the parts of one gateway share. */
export interface GatewayParts {
  readonly deps: GatewayDeps;
  readonly settings: GatewaySettings;
  readonly log: GatewayLog;
  /** Clock for durations, ms. */
  now(): number;
  /** Time of day, ms since 1970. */
  wallNow(): number;
  readonly stats: GatewayStats;
  readonly pools: Pools;
  readonly exchanges: Exchanges;
  connect(options: ConnectOptions): Promise<Duplex>;
  /** Answers by the gateway itself, counted and logged. */
  refuse(req: IncomingMessage, res: ServerResponse, refusal: Refusal): void;
}
