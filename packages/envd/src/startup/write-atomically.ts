import { renameSync, rmSync, writeFileSync } from 'node:fs';

/** Writes a file that others see either not at all or whole. @throws Error of the system call; then nothing is left. */
export function writeAtomically(path: string, content: Buffer): void {
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, content);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}
