export type {
  AddressedRequest,
  Elsewhere,
  Gateway,
  GatewayConfig,
  GatewayDeps,
  GatewayLog,
  GatewayStats,
  RefusalReason,
  ResumeCredentials,
  ResumeOutcome,
  Route,
} from './contract.js';
export { createGateway } from './gateway.js';
export { gatewayServerOptions } from './server-options.js';
