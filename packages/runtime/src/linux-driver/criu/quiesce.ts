import { setTimeout as sleep } from 'node:timers/promises';
import { DriverError } from '../../contract/errors.js';
import { readText } from '../../shared/read-text.js';
import { Turns } from '../../shared/turns.js';
import type { Cgroups } from '../cgroups/cgroups.js';
import { programName } from './program-name.js';
import { threads } from './undumpable.js';

/** Starting a program takes a millisecond or two; who waits for longer waits for a child that does not come. */
const PATIENCE_MS = 1_000;
const CLONE_VFORK = 0x4000;
/** Numbers of `vfork`, `clone` and `clone3`. The flags of the last are in memory; nobody else is found inside it. */
const CALLS =
  process.arch === 'arm64' ? { vfork: -1, clone: 220, clone3: 435 } : { vfork: 58, clone: 56, clone3: 435 };

/**
 * Freezes a sandbox at a moment when CRIU can get hold of each of its programs. One that started another stands inside
 * `vfork` until the other has begun: it counts as frozen there, and cannot be seized before its child continues.
 * @throws {DriverError} `undumpable` when a program stays there; `timeout`
 */
export async function freezeForDump(
  cgroups: Pick<Cgroups, 'freeze' | 'thaw' | 'pids'>,
  name: string,
): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (let round = 1; ; round++) {
    await cgroups.freeze(name);
    const began = performance.now();
    const pid = await findStartingProgram(cgroups.pids(name));
    if (pid === undefined) return;
    if (Date.now() >= deadline)
      throw new DriverError(
        'undumpable',
        `The memory of the sandbox cannot be stored: ${programName(pid)} waits for a program that it starts and that does not begin.`,
      );
    cgroups.thaw(name);
    // A sandbox may have thousands of threads: looking at them again and again leaves as much time to others.
    await sleep(Math.max(round, performance.now() - began));
  }
}

async function findStartingProgram(pids: readonly number[]): Promise<number | undefined> {
  const turns = new Turns();
  for (const pid of pids)
    for (const tid of threads(pid)) {
      await turns.give();
      if (isInsideVfork(readText(`/proc/${pid}/task/${tid}/syscall`))) return pid;
    }
  return undefined;
}

/** Reads what `/proc/<pid>/syscall` says: the number of the system call that a process is in, then its arguments. */
export function isInsideVfork(text: string | undefined, calls = CALLS): boolean {
  const [number, flags] = (text ?? '').split(' ', 2).map(Number);
  if (number === calls.clone) return ((flags ?? 0) & CLONE_VFORK) !== 0;
  return number === calls.vfork || number === calls.clone3;
}
