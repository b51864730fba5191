import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from './run-program.js';

/** renameat2(2) by processor: Node has no call that exchanges two names. */
const CALLS: Partial<Record<NodeJS.Architecture, number>> = { x64: 316, arm64: 276 };
const SCRIPT =
  'exit 0 if syscall($ARGV[0] + 0, -100, $ARGV[1], -100, $ARGV[2], 2) == 0; print STDERR "$!\\n"; exit 1';

/**
 * Exchanges two directories of one file system in one step: every reader sees the one or the other, never none, and a crash
 * leaves one of both states.
 * @throws {CliError} where the file system cannot
 */
export async function exchange(one: string, other: string): Promise<void> {
  await runProgram('perl', ['-e', SCRIPT, String(CALLS[process.arch] ?? -1), one, other]);
}

/** Tries it in a directory: what would fail between stop and start fails before. @throws {CliError} */
export async function requireExchange(work: string): Promise<void> {
  const [one, other] = [join(work, 'try-a'), join(work, 'try-b')];
  await mkdir(one);
  await mkdir(other);
  await exchange(one, other);
}
