const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `1536` as `1.5 KiB`. */
export function formatBytes(bytes: number | undefined): string | undefined {
  if (bytes === undefined || !Number.isFinite(bytes)) return undefined;
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** A span as its one or two greatest units: `45s`, `3m 20s`, `2h 5m`, `4d 1h`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return '0s';
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ');
}

/** `3m 20s ago`. */
export function formatAge(time: Date | undefined, now: number): string | undefined {
  return time === undefined ? undefined : `${formatDuration(now - time.getTime())} ago`;
}

/** `in 4m 10s`, or `now` for what is due. */
export function formatUntil(time: Date | undefined, now: number): string | undefined {
  if (time === undefined) return undefined;
  return time.getTime() <= now ? 'now' : `in ${formatDuration(time.getTime() - now)}`;
}

/** Pairs as `a=1 b=2`. */
export function formatPairs(pairs: Record<string, string> | undefined): string | undefined {
  const entries = Object.entries(pairs ?? {});
  if (entries.length === 0) return undefined;
  const text = entries.map(([name, value]) => `${name}=${value}`).join(' ');
  // They are their team's words: their colours are not ours.
  return text.replaceAll('\u001b', '\\x1b');
}

/** A key or token, recognisable and useless: `svc_ab...9f`. */
export function maskSecret(secret: string): string {
  return secret.length <= 12 ? '***' : `${secret.slice(0, 6)}...${secret.slice(-2)}`;
}
