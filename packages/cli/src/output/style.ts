/** Marks text for a terminal. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

/**
 * Decides on colours: only on a terminal, never with `NO_COLOR` (any value that is not empty) or `TERM=dumb`;
 * `FORCE_COLOR` asks for them anywhere.
 */
export function wantsColor(stream: { isTTY?: boolean }, env: Record<string, string | undefined>): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== '0') return true;
  return stream.isTTY === true && env.TERM !== 'dumb';
}

export function createStyle(color: boolean): Style {
  const mark = (on: number, off: number) => (text: string) =>
    color && text !== '' ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  return {
    bold: mark(1, 22),
    dim: mark(2, 22),
    red: mark(31, 39),
    green: mark(32, 39),
    yellow: mark(33, 39),
    cyan: mark(36, 39),
  };
}
