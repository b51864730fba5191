const STEPS: readonly [name: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** From here on a clock alone is ambiguous, ms. */
const LONG_SPAN_MS = 12 * 3_600_000;

/** The two largest units: `2 h 5 min`, `45 s`; below a second `120 ms`. */
export function formatDuration(durationMs: number): string {
  const ms = Math.max(0, Math.round(durationMs));
  if (ms < 1_000) return `${ms} ms`;
  const first = STEPS.findIndex(([, size]) => ms >= size);
  const [name, size] = STEPS[first]!;
  const whole = Math.floor(ms / size);
  const next = STEPS[first + 1];
  const rest = next === undefined ? 0 : Math.floor((ms % size) / next[1]);
  return rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${next![0]}`;
}

/** `in 5 min`, `3 h ago`, `now`. */
export function formatAgo(time: Date, nowMs: number): string {
  const distance = time.getTime() - nowMs;
  if (Math.abs(distance) < 1_000) return 'now';
  const [name, size] = STEPS.find(([, step]) => Math.abs(distance) >= step)!;
  const text = `${Math.floor(Math.abs(distance) / size)} ${name}`;
  return distance > 0 ? `in ${text}` : `${text} ago`;
}

/** `2026-11-25 17:05:09` of the reader's own clock. */
export function formatTime(time: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const day = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-');
  return `${day} ${[time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':')}`;
}

/** A time under a plot: with seconds for spans of some hours, with the day for longer ones. */
export function formatAxis(time: Date, spanMs: number): string {
  return spanMs < LONG_SPAN_MS ? formatTime(time).slice(11) : formatTime(time).slice(5, 16);
}
