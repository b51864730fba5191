export type {
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
