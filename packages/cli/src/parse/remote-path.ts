import { UsageError } from '../errors/cli-error.js';

/** One side of a copy: a path here, or a path in a sandbox. */
export type Place = { kind: 'local'; path: string } | { kind: 'remote'; sandboxId: string; path: string };

/**
 * Reads one side of `cp`. `ID:path` is in a sandbox; a path here that holds a colon is written with a slash before it
 * (`./a:b`). `-` is standard input or output. Pure.
 */
export function parsePlace(text: string): Place {
  // A name may hold a line break.
  const match = /^([a-z0-9-]+):(.*)$/is.exec(text);
  if (match === null) {
    if (text === '') throw new UsageError('The path is empty.');
    return { kind: 'local', path: text };
  }
  return { kind: 'remote', sandboxId: match[1]!, path: match[2] === '' ? '.' : match[2]! };
}

/** Which way a copy goes. @throws {UsageError} unless exactly one side is in a sandbox */
export function parseCopy(
  source: string,
  target: string,
):
  | { direction: 'upload'; local: string; sandboxId: string; remote: string }
  | { direction: 'download'; local: string; sandboxId: string; remote: string } {
  const [from, to] = [parsePlace(source), parsePlace(target)];
  if (from.kind === 'local' && to.kind === 'remote')
    return { direction: 'upload', local: from.path, sandboxId: to.sandboxId, remote: to.path };
  if (from.kind === 'remote' && to.kind === 'local')
    return { direction: 'download', local: to.path, sandboxId: from.sandboxId, remote: from.path };
  const what = from.kind === 'local' ? 'Both paths are on this machine.' : 'Both paths are in sandboxes.';
  throw new UsageError(what, 'One side is SANDBOX:path: svc sandbox cp ./data.csv ID:data.csv');
}
