import { lstatSync, mkdtempSync, readdirSync, rmdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { isSameProcess, processStart } from '@svc/support/process-identity';

/** Which process made a folder, and when that began. */
const NAME = /^\.envd-(\d{1,10})-(\w{1,32})-/;

/** Makes a folder for pipes that have names for a moment. */
export function makePipeFolder(root: string): string {
  return mkdtempSync(
    join(root, `.envd-${process.pid}-${(processStart(process.pid) ?? '').replace(/\W/g, '')}-`),
  );
}

/**
 * Removes a folder with its pipes, not with whatever else somebody may have put there: others can write to the directory that
 * it is in, and what is removed with all that it leads to could be swapped. Never throws.
 */
export function removePipeFolder(folder: string): void {
  try {
    for (const name of readdirSync(folder)) unlinkSync(join(folder, name));
    rmdirSync(folder);
  } catch {
    // Its own daemon or a later one comes back to it.
  }
}

/** Removes what daemons left that were killed while they made pipes. Never throws. */
export function removeDeadPipeFolders(root: string): void {
  let names: string[];
  try {
    names = readdirSync(root);
  } catch {
    return;
  }
  for (const name of names) {
    const [, pid, start] = NAME.exec(name) ?? [];
    if (pid === undefined || start === undefined || isSameProcess(Number(pid), start)) continue;
    const folder = join(root, name);
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (found?.isDirectory() === true && found.uid === process.getuid?.()) removePipeFolder(folder);
  }
}
