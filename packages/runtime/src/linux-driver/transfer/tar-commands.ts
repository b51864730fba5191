import { readFileSync } from 'node:fs';
import { assetPath } from '../../shared/assets.js';

/**
 * Owners by number, holes, links, times below the second, and every attribute: capabilities, ACLs, those of overlays. Without the
 * names that overlays have for files of this very file system: on another one they lead nowhere, and nothing is mounted with them.
 */
const KEPT = [
  ...['--numeric-owner', '--acls', '--xattrs', '--xattrs-include=*'],
  ...['origin', 'uuid', 'upper', 'nlink'].map((name) => `--xattrs-exclude=trusted.overlay.${name}`),
];

/** The command line that writes names of a directory to standard output as tar. To be run as root. */
export function packCommand(
  directory: string,
  names: readonly string[],
  exclude: readonly string[] = [],
): string[] {
  return [
    ...['tar', '--create', '--format=posix', '--sparse', ...KEPT],
    ...exclude.map((pattern) => `--exclude=${pattern}`),
    // Sockets of programs cannot be stored, and mean nothing without them.
    ...['--warning=no-file-ignored', '--file=-', `--directory=${directory}`, '--', ...names],
  ];
}

/** The command line that unpacks standard input into a tree, in a process that sees nothing else. To be run as root. */
export function unpackCommand(tree: string): string[] {
  if (!tree.startsWith('/')) throw new TypeError('The tree of a jail needs an absolute path.');
  return [
    ...['unshare', '--mount', '--net', '--ipc', '--uts', '--pid', '--fork', '--kill-child=SIGKILL'],
    ...['sh', '-c', readFileSync(assetPath('restore-jail.sh'), 'utf8'), 'jail', tree],
    ...['tar', '--extract', '--same-owner', '--same-permissions', '--delay-directory-restore', ...KEPT],
    ...['--file=-', '--directory=/tree'],
  ];
}

/**
 * The same as {@link packCommand}, with the same bytes each time for what does not change: in one order, without times of reading,
 * and as process 1 of its own, for tar writes its number into names of sparse files.
 */
export function exportCommand(
  directory: string,
  names: readonly string[],
  exclude: readonly string[] = [],
): string[] {
  const [tar, ...args] = packCommand(directory, names, exclude);
  return [
    ...['unshare', '--pid', '--fork', '--kill-child=SIGKILL', tar!],
    ...['--sort=name', '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime'],
    ...args,
  ];
}
