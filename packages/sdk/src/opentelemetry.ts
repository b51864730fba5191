export type { Telemetry } from './core/telemetry.js';
export { instrument } from './opentelemetry/instrument.js';
export { openTelemetry } from './opentelemetry/open-telemetry.js';
export type { OpenTelemetryOptions } from './opentelemetry/options.js';
