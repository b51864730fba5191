import { execFileSync } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import type { TarTestEntry } from '../tar.js';

const PROGRAMS = ['cat', 'chmod', 'chown', 'find', 'grep', 'id', 'ls', 'mkdir', 'mkfifo', 'rm', 'stat'];

/** A small but whole root file system: a shell and a few programs of this host, with the libraries that they need. */
export function smallRootFileSystem(): TarTestEntry[] {
  const files = new Map<string, string>([['bin/sh', '/bin/dash']]);
  for (const name of PROGRAMS) {
    const path = execFileSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
    files.set(`bin/${name}`, path);
  }
  for (const program of [...files.values()]) {
    const listed = execFileSync('ldd', [program], { encoding: 'utf8' });
    for (const [, library] of listed.matchAll(/(\/\S+) \(0x/g)) files.set(library!.slice(1), library!);
  }
  return [
    {
      name: 'etc/passwd',
      content: 'root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n',
      uid: 0,
    },
    { name: 'etc/group', content: 'root:x:0:\nuser:x:1000:\n', uid: 0 },
    { name: 'home/user', type: 'directory', mode: 0o755 },
    { name: 'root', type: 'directory', mode: 0o700, uid: 0 },
    { name: 'tmp', type: 'directory', mode: 0o777, uid: 0 },
    ...[...files].map(([name, path]) => ({
      name,
      content: readFileSync(realpathSync(path)),
      mode: 0o755,
      uid: 0,
    })),
  ];
}
