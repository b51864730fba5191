import { OutputLostError } from '../errors/command-errors.js';
import type { OutputHub } from '../process/output-hub.js';
import { textOf } from './command-output.js';

/** The error of a command's readers where output is missing, with what was kept of it. */
export function outputLost(
  line: string,
  output: OutputHub,
  lostBytes: number,
  cause?: unknown,
): OutputLostError {
  const received = { lostBytes, stdout: textOf(output, 'stdout'), stderr: textOf(output, 'stderr') };
  return new OutputLostError(line, received, { operation: 'commands.run', cause });
}
