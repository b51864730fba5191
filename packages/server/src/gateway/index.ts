export type {
  AddressedRequest,
  Gateway,
  GatewayConfig,
  GatewayDeps,
  GatewayLog,
  GatewayStats,
  OtherNodes,
  RefusalReason,
  ResumeCredentials,
  ResumeOutcome,
  Route,
} from './contract.js';
export { createGateway } from './gateway.js';
export { gatewayServerOptions } from './settings.js';
