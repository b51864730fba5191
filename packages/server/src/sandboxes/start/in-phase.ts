import { DriverError } from '@svc/runtime';
import type { ServiceMetrics, StartSource } from '../../api/context/service-metrics.js';
import { ApiError } from '../../api/errors/api-error.js';

/** Times one phase of a start, and counts it when it fails. */
export async function inPhase<T>(
  metrics: ServiceMetrics | undefined,
  source: StartSource,
  phase: 'record' | 'driver' | 'network' | 'daemon' | 'publish',
  work: () => Promise<T>,
): Promise<T> {
  if (metrics === undefined) return work();
  const from = performance.now();
  try {
    const result = await work();
    metrics.startPhase(source, phase, (performance.now() - from) / 1000);
    return result;
  } catch (error) {
    metrics.startFailed(source, phase, codeOf(error));
    throw error;
  }
}

/** A word of a closed set: it is a label. */
function codeOf(error: unknown): string {
  if (DriverError.is(error)) return error.code;
  if (error instanceof ApiError) return String(error.status);
  return error instanceof Error && error.name === 'AbortError' ? 'aborted' : 'other';
}
