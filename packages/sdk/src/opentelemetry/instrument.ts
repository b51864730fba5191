import { type Telemetry, telemetryKey } from '../core/telemetry.js';
import { openTelemetry } from './open-telemetry.js';
import type { OpenTelemetryOptions } from './options.js';

/**
 * Records what every client of this program does that has no `telemetry` of its own, the one behind `Sandbox.create()`
 * included, from now on. May be called before an SDK of OpenTelemetry is registered, and again: the last one counts.
 * @returns what ends it
 * @example
 * const end = instrument();
 */
export function instrument(options: OpenTelemetryOptions = {}): () => void {
  const place = globalThis as { [telemetryKey]?: Telemetry };
  const telemetry = openTelemetry(options);
  place[telemetryKey] = telemetry;
  return () => {
    if (place[telemetryKey] === telemetry) delete place[telemetryKey];
  };
}
