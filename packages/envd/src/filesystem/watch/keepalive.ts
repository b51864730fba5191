const DEFAULT_SECONDS = 90;
const MAX_SECONDS = 86_400;

/** How often an idle stream gets a sign of life, ms, by the header `Keepalive-Ping-Interval` (seconds; anything but a positive number: 90). */
export function keepaliveIntervalMs(header: string | null): number {
  const seconds = header !== null && /^\d{1,9}$/.test(header.trim()) ? Number(header) : 0;
  return 1000 * (seconds > 0 ? Math.min(seconds, MAX_SECONDS) : DEFAULT_SECONDS);
}
