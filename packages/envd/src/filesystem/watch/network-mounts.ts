import { readFile } from 'node:fs/promises';

const NETWORK_TYPES = new Set([
  'nfs',
  'nfs4',
  'cifs',
  'smb3',
  'smbfs',
  '9p',
  'ceph',
  'afs',
  'coda',
  'ncpfs',
  'lustre',
]);
// The rest of the FUSE family reaches over the network more often than not: sshfs, s3fs, rclone, gcsfuse, ...
const LOCAL_FUSE = new Set([
  'fuse.fuse-overlayfs',
  'fuse.lxcfs',
  'fuse.mergerfs',
  'fuse.portal',
  'fuse.bindfs',
]);

/** Whether a directory, given without links in it, lies on a file system that does not report what others change. */
export async function isOnNetworkMount(path: string): Promise<boolean> {
  let table: string;
  try {
    table = await readFile('/proc/self/mounts', 'utf8');
  } catch {
    return false;
  }
  return isNetworkType(mountTypeOf(path, table));
}

/** Type of the file system a path is on, by the kernel's table of mounts; undefined when the table does not say. */
export function mountTypeOf(path: string, table: string): string | undefined {
  let best: { length: number; type: string } | undefined;
  for (const line of table.split('\n')) {
    const [, target, type] = line.split(' ');
    if (target === undefined || type === undefined) continue;
    const point = unescapeOctal(target);
    // The root is the sandbox's own, whatever a runtime calls it. Of two mounts the later one is visible.
    if (point === '/' || !(path === point || path.startsWith(`${point}/`))) continue;
    if (!best || point.length >= best.length) best = { length: point.length, type };
  }
  return best?.type;
}

export function isNetworkType(type: string | undefined): boolean {
  if (type === undefined) return false;
  return NETWORK_TYPES.has(type) || (/^fuse(\.|$)/.test(type) && !LOCAL_FUSE.has(type));
}

/** Spaces, tabs, newlines and backslashes stand as `\040` and so on. The rest is UTF-8 as it is. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
