import { assetPath } from '../../shared/assets.js';
import { runProgram } from '../../shared/run-program.js';
import { programName } from './program-name.js';

/** A Unix socket with a name, in a program that has it open. */
export interface OpenSocket {
  pid: number;
  fd: string;
  /** The path that it was bound to, as the program gave it. */
  name: string;
}

/** Sockets that are bound to a path, by what a descriptor of one leads to. @param text `/proc/<pid>/net/unix` */
export function namedSockets(text: string): Map<string, string> {
  const named = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, inode, name] = /^[0-9a-f]+:(?: \S+){5} +(\d+) (\/.*)$/i.exec(line) ?? [];
    if (inode !== undefined) named.set(`socket:[${inode}]`, name!);
  }
  return named;
}

/**
 * Finds sockets whose file has another name than the one that they were bound to: a restore binds the old name, and nobody who looks at
 * the new one would be answered. Gives sentences for the user.
 */
export async function findMovedSockets(held: readonly OpenSocket[]): Promise<string[]> {
  if (held.length === 0) return [];
  const words = held.flatMap(({ pid, fd, name }) => [String(pid), fd, name]);
  const { stdout } = await runProgram('perl', [assetPath('moved-sockets.pl'), process.arch, ...words], {
    timeoutMs: 10_000,
  });
  return stdout.split('\n').flatMap((index) => {
    const moved = index === '' ? undefined : held[Number(index)];
    return moved === undefined
      ? []
      : [
          `${programName(moved.pid)} has a Unix socket whose file was renamed or linked to another path since it was bound to ${moved.name}`,
        ];
  });
}
