/** Longest delay that a timer of the runtime can hold, ms (2^31 - 1). */
export const MAX_TIMER_MS = 2_147_483_647;

/**
 * What the RPC library should see as `Connect-Timeout-Ms`. Zero means no limit, and so does what no timer can hold;
 * malformed text is left for the library to refuse.
 */
export function effectiveTimeout(header: string | undefined): string | undefined {
  if (header === undefined || !/^\d{1,10}$/.test(header)) return header;
  const milliseconds = Number(header);
  return milliseconds === 0 || milliseconds > MAX_TIMER_MS ? undefined : header;
}
