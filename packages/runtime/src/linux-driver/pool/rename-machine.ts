import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { randomId } from '../../shared/instance-id.js';
import type { LinuxHost } from '../host/linux-host.js';
import { rootOf } from '../state/mount-points.js';
import type { InstanceEntry } from '../state/records.js';

/** A longer file was not written by us, and is not read, so that nobody waits. */
const MAX_BYTES = 64 * 1024;

interface NameChange {
  from: string;
  to: string;
  /** The machine's root as the host sees it. */
  owner: number;
}

/** Corrects the files that name an instance. A full disk must not keep it from running with its old name in them. */
export function renameInstance(host: LinuxHost, entry: InstanceEntry, from: string): void {
  if (host.current === undefined) return;
  try {
    const root = host.current.view(rootOf(entry.name));
    renameMachine(`${root}/etc`, { from, to: entry.id ?? entry.name, owner: entry.firstId ?? 0 });
  } catch (error) {
    host.log('warn', 'the files that name an instance could not be changed', {
      instance: entry.name,
      error: String(error),
    });
  }
}

/**
 * Puts a machine's new name where its files have the old one: `hosts` and `hostname`. Each is replaced by another file, as
 * an editor does, because a program may hold the old one open. What else is in them stays. Links are not followed: the
 * machine's programs run and could point them at anything.
 * @param etc the machine's `/etc`.
 */
function renameMachine(etc: string, change: NameChange): void {
  if (change.from === change.to) return;
  let directory: number;
  try {
    directory = openSync(etc, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch {
    // No directory, so nothing in it that has the name.
    return;
  }
  try {
    for (const file of ['hosts', 'hostname']) replaceName(`/proc/self/fd/${directory}`, file, change);
  } finally {
    closeSync(directory);
  }
}

function replaceName(directory: string, file: string, { from, to, owner }: NameChange): void {
  const found = readRegularFile(`${directory}/${file}`);
  if (found === undefined) return;
  const text = renameIn(found.text, from, to);
  if (text === found.text) return;
  // A name that no program can have taken before. With `wx` a link is not followed either.
  const draft = `${directory}/.${file}.${randomId()}`;
  const fd = openSync(draft, 'wx', found.mode);
  try {
    // A file that root of the host makes has no owner in there.
    fchownSync(fd, owner, owner);
    writeFileSync(fd, text);
  } finally {
    closeSync(fd);
  }
  renameSync(draft, `${directory}/${file}`);
}

function readRegularFile(path: string): { text: string; mode: number } | undefined {
  let fd: number;
  try {
    // Without O_NONBLOCK a pipe in its place would hold us for ever.
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const { mode } = fstatSync(fd);
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) return undefined;
    // Its size says nothing: it may grow while it is read.
    const bytes = Buffer.alloc(MAX_BYTES + 1);
    const length = readSync(fd, bytes, 0, bytes.length, 0);
    if (length > MAX_BYTES) return undefined;
    return { text: bytes.toString('utf8', 0, length), mode: mode & 0o777 };
  } finally {
    closeSync(fd);
  }
}

/** Replaces a name where it stands as a whole word. */
function renameIn(text: string, from: string, to: string): string {
  return text
    .split(/(\s+)/)
    .map((word) => (word === from ? to : word))
    .join('');
}
