import { randomInt } from 'node:crypto';

/** One call that a scripted model asks for. */
export interface Asked {
  readonly tool: string;
  readonly input: Record<string, unknown>;
}

/** The calls that the scripted model of every framework makes, one a turn: writes, fails, reads what went wrong, repairs, reads. */
export const SCRIPT: readonly Asked[] = [
  {
    tool: 'write_file',
    input: { path: 'squares.py', content: 'print([n * n for n in range(8) if missing])\n' },
  },
  { tool: 'run_command', input: { command: 'python3 squares.py > squares.txt' } },
  { tool: 'read_file', input: { path: 'no-such-file.txt' } },
  { tool: 'run_command', input: { command: 'sleep 30', timeout_seconds: 1 } },
  { tool: 'edit_file', input: { path: 'squares.py', old_text: ' if missing', new_text: '' } },
  { tool: 'run_command', input: { command: 'python3 squares.py > squares.txt' } },
  { tool: 'read_file', input: { path: 'squares.txt' } },
];

/** The expected answers, call by call. */
export const TOLD: readonly RegExp[] = [
  /Wrote 44 bytes to \/.*squares\.py\./,
  /exit code: 1\n[\s\S]*NameError/,
  /no-such-file\.txt/,
  /ran longer than 1 s/,
  /Replaced one place in squares\.py\./,
  /exit code: 0/,
  /\[0, 1, 4, 9, 16, 25, 36, 49\]/,
];

/** A call that runs a program without end. */
export function endless(): { asked: Asked; line: string } {
  // Of a length of its own: on the process driver the programs of other tests are to be seen too.
  const line = `sleep ${randomInt(1e6, 1e9)}`;
  return { line, asked: { tool: 'run_command', input: { command: `exec ${line}` } } };
}
