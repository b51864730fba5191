import { basename, dirname, join } from 'node:path';
import { runProgram } from '../shared/run-program.js';
import { jailCommand } from './jail-task.js';

/**
 * Removes a file or a directory with everything in it, regardless of a tenant's changes meanwhile: links
 * are removed, never followed. As root on Linux a jailed process does it, which sees nothing else of the host. Repeating
 * it is fine. Rejects when something is left.
 * @param path absolute; no tenant may be able to change what its directory is.
 */
export function removeTree(path: string): Promise<void> {
  return removeInTree(dirname(path), basename(path));
}

/**
 * The same for something in a tree whose directories a tenant may swap for links meanwhile: nothing outside of the tree
 * is touched.
 * @param tree absolute; no tenant may be able to change what it leads to.
 * @param path relative to the tree, of names alone.
 */
export async function removeInTree(tree: string, path: string): Promise<void> {
  const [command, ...args] = canJail()
    ? enterAnd(tree, (inside) => jailCommand(inside, { kind: 'remove', paths: [path] }))
    : ['rm', '-rf', '--', join(tree, path)];
  const { exitCode, stderr } = await runProgram(command!, args);
  if (exitCode !== 0)
    throw new Error(`A directory could not be removed (exit status ${exitCode}): ${stderr.slice(-500)}`);
}

/** A tree of another mount namespace (`/proc/<pid>/root/...`) can only be bound in there. */
function enterAnd(tree: string, command: (tree: string) => string[]): string[] {
  const inNamespace = /^\/proc\/(\d+)\/root(\/.*)$/.exec(tree);
  if (inNamespace === null) return command(tree);
  const [, pid, inside] = inNamespace;
  return ['nsenter', `--target=${pid}`, '--mount', '--root', '--wd', ...command(inside!)];
}

function canJail(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0;
}
