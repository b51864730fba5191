import { formatBytes } from './format.js';
import type { Output } from './output.js';

/** Shows the progress of work on standard error. */
export interface Progress {
  update(text: string): void;
  /** Ends it; the text, if any, stays. */
  done(text?: string): void;
}

const frames = ['|', '/', '-', '\\'];
const redrawMs = 120;

/**
 * Shows one line that is redrawn during the work, on a terminal; without one only what `done` says. Nothing with
 * `--json`. Work that is over at once shows nothing in between.
 */
export function startProgress(out: Output, text: string): Progress {
  if (!out.interactive)
    return { update: () => undefined, done: (last) => last !== undefined && out.note(last) };
  let current = text;
  let frame = 0;
  let drawn = false;
  const draw = () => {
    const room = Math.max(20, out.columns - 3);
    out.draw(`\r\u001b[K${out.errorStyle.cyan(frames[frame++ % frames.length]!)} ${current.slice(0, room)}`);
    drawn = true;
  };
  const timer = setInterval(draw, redrawMs);
  timer.unref();
  return {
    update: (next) => {
      current = next;
    },
    done: (last) => {
      clearInterval(timer);
      if (drawn) out.draw('\r\u001b[K');
      if (last !== undefined) out.note(last);
    },
  };
}

/** Returns the progress of a transfer, as a line. Pure. */
export function transferText(name: string, done: number, total: number | undefined): string {
  if (total === undefined || total === 0) return `${name}  ${formatBytes(done)}`;
  const share = Math.min(1, done / total);
  const width = 24;
  const filled = Math.round(share * width);
  const bar = `${'#'.repeat(filled)}${'.'.repeat(width - filled)}`;
  return `${name}  [${bar}] ${Math.floor(share * 100)} %  ${formatBytes(done)} of ${formatBytes(total)}`;
}

/** Does work under a progress line. */
export async function withProgress<Value>(
  out: Output,
  text: string,
  work: (progress: Progress) => Promise<Value>,
): Promise<Value> {
  const progress = startProgress(out, text);
  try {
    return await work(progress);
  } finally {
    progress.done();
  }
}
