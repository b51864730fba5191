import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { DriverError, type Machine, type Transfers } from '@svc/runtime/contract';

/** Checkpoints of a process driver, copied as plain archives. @param stored ids of those that there are */
export function directoryTransfers(dataDir: string, machine: Machine, stored: Set<string>): Transfers {
  const checkpoints = path.join(dataDir, 'checkpoints');
  const describe: Transfers['describe'] = async ({ kind, id }) => {
    if (kind !== 'checkpoint' || !stored.has(id))
      throw new DriverError('not_found', `There is no ${kind} "${id}".`);
    return { kind, id, sizeBytes: 1, needs: [], memory: true, machine };
  };
  return {
    machine,
    describe,
    has: async ({ kind, id }) => kind === 'checkpoint' && stored.has(id),
    async export(object, { offset = 0 } = {}) {
      await describe(object);
      const tar = spawn('sh', [
        '-c',
        'tar --create --sort=name --file=- --directory="$0" "$1" | tail -c "+$2"',
        ...[checkpoints, object.id, String(offset + 1)],
      ]);
      tar.stderr.resume();
      return tar.stdout;
    },
    async import({ id }, archive) {
      const draft = path.join(dataDir, `draft-${id}`);
      await mkdir(draft, { recursive: true });
      // Bytes after the end of an archive are read too.
      const script = 'tar --extract --file=- --directory="$0" && cat > /dev/null';
      const tar = spawn('sh', ['-c', script, draft], { stdio: ['pipe', 'ignore', 'ignore'] });
      const ended = once(tar, 'exit');
      try {
        await pipeline(archive, tar.stdin);
        const [code] = await ended;
        if (code !== 0) throw new DriverError('invalid_archive', 'The copy cannot be unpacked.');
        await rename(path.join(draft, id), path.join(checkpoints, id));
        stored.add(id);
      } finally {
        await rm(draft, { recursive: true, force: true });
      }
    },
  };
}
