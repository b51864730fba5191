import type { PtySize } from '@svc/sdk';

/** A client without a terminal of its own sends 0. Larger than any screen is a mistake. Pure. */
export function terminalSize({ cols, rows }: PtySize): PtySize {
  return { cols: Math.min(cols || 80, 1000), rows: Math.min(rows || 24, 1000) };
}
