const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes)) return '–';
  let value = Math.max(0, bytes);
  let unit = 0;
  while (value >= 1023.5 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits).replace(/\.0$/, '')} ${UNITS[unit]}`;
}

/** `12.5 %`. */
export function formatPercent(percent: number): string {
  if (!Number.isFinite(percent)) return '–';
  return `${percent >= 10 ? Math.round(percent) : Math.round(percent * 10) / 10} %`;
}

/** `12,345`, and `12.5` for what is no whole number. */
export function formatCount(count: number): string {
  return count.toLocaleString('en', { maximumFractionDigits: count >= 100 ? 0 : 2 });
}
