import { errors } from '../../api/errors/catalog.js';
import type { Uses } from '../context.js';

/**
 * Takes a place among the sandboxes that this server runs, for one that is about to. Taken at once, so that of several
 * at the same time none slips past the limit.
 * @returns gives the place back; to be called once the sandbox's row counts by itself, or its start failed.
 * @throws {ApiError} 503 when this server runs as many sandboxes as it may
 */
export function takePlace(context: Uses<'config' | 'sandboxes'>): () => void {
  const { sandboxes, config } = context;
  if (activeSandboxes(context) >= config.maxSandboxes)
    throw errors.capacityUnavailable(`this server runs ${config.maxSandboxes} sandboxes, its most`);
  sandboxes.starting += 1;
  let held = true;
  return () => {
    if (held) sandboxes.starting -= 1;
    held = false;
  };
}

/** Counts the sandboxes that this server runs or is about to run. */
export function activeSandboxes({ sandboxes }: Uses<'sandboxes'>): number {
  let active = sandboxes.starting;
  for (const live of sandboxes.values()) if (live.row.state !== 'paused') active += 1;
  return active;
}
