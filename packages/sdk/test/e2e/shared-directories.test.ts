import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnServer } from '@svc/support/testing/on-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/index.js';

type Account = 'user' | 'root';
type Need = 'follow' | 'write' | 'remove';

const everybody: readonly Account[] = ['user', 'root'];
const mayAll = { follow: everybody, write: everybody, remove: everybody };

/**
 * Obstacles at a path, made by the shell of an account; `old` is then the content. The shells of which accounts
 * may follow it, write it and remove it is how the kernel has it with fs.protected_symlinks.
 */
const things: Record<
  string,
  { as: Account; may: Record<Need, readonly Account[]>; make: (path: string) => string }
> = {
  'a file of the user': { as: 'user', may: mayAll, make: (path) => `echo old > ${path}` },
  'a file of root': {
    as: 'root',
    may: { ...mayAll, write: ['root'], remove: ['root'] },
    make: (path) => `echo old > ${path}`,
  },
  'a link of the user to a file': {
    as: 'user',
    may: { ...mayAll, follow: ['user'] },
    make: (path) => `rm -f ~/real-file; echo old > ~/real-file; ln -sfn ~/real-file ${path}`,
  },
  'a link of root to a file': {
    as: 'root',
    may: { ...mayAll, write: ['root'], remove: ['root'] },
    make: (path) =>
      `rm -f /home/user/real-file; echo old > /home/user/real-file; ln -sfn /home/user/real-file ${path}`,
  },
  'a link of the user to a link of the user': {
    as: 'user',
    may: { ...mayAll, follow: ['user'] },
    make: (path) =>
      `rm -f ~/real-file; echo old > ~/real-file; ln -sfn ~/real-file ${path}.next; ln -sfn $(basename ${path}).next ${path}`,
  },
};

/** The rights that an operation needs. */
const needs: Record<string, readonly Need[]> = {
  read: ['follow'],
  write: ['follow', 'write'],
  'write a stream': ['follow', 'write'],
  'write many': ['follow', 'write'],
  stat: [],
  list: [],
  compose: ['follow', 'remove'],
  // It is read where it is then.
  move: ['follow', 'remove'],
  remove: ['remove'],
  'keep metadata': ['follow', 'write'],
};

/** Calls of the client on a path at which `old` can be read. */
const operations: Record<string, (sandbox: Sandbox, path: string, call: { user?: string }) => Promise<void>> =
  {
    read: async ({ files }, path, call) => {
      expect(await files.read(path, call)).toBe('old\n');
      expect(new TextDecoder().decode(await files.read(path, { ...call, format: 'bytes' }))).toBe('old\n');
    },
    write: async ({ files }, path, call) => {
      for (const text of ['new', 'newer']) {
        await files.write(path, text, call);
        expect(await files.read(path, call)).toBe(text);
      }
    },
    'write a stream': async ({ files }, path, call) => {
      await files.write(path, new Blob(['streamed']).stream(), call);
      expect(await files.read(path, call)).toBe('streamed');
    },
    'write many': async ({ files }, path, call) => {
      await files.writeMany(
        [
          { path, data: 'one' },
          { path: `${path}-2`, data: 'two' },
        ],
        call,
      );
      expect([await files.read(path, call), await files.read(`${path}-2`, call)]).toEqual(['one', 'two']);
    },
    stat: async ({ files }, path, call) => {
      expect(await files.stat(path, call)).toMatchObject({ type: 'file', mode: 0o644 });
      expect(await files.exists(path, call)).toBe(true);
    },
    list: async ({ files }, path, call) => {
      const directory = path.slice(0, path.lastIndexOf('/'));
      const listed = (await files.list(directory, call)).find((entry) => entry.path === path);
      expect(listed).toMatchObject({ type: 'file' });
    },
    compose: async ({ files }, path, call) => {
      await files.write(`${path}-more`, 'more', call);
      await files.compose([path, `${path}-more`], `${path}-all`, call);
      expect(await files.read(`${path}-all`, call)).toBe('old\nmore');
      await files.write(`${path}-part`, 'part', call);
      await files.compose([`${path}-part`], `${path}-all`, call);
      expect(await files.read(`${path}-all`, call)).toBe('part');
    },
    move: async ({ files }, path, call) => {
      await files.move(path, `${path}-moved`, call);
      expect(await files.read(`${path}-moved`, call)).toBe('old\n');
      await files.write(`${path}-moved`, 'after', call);
    },
    remove: async ({ files }, path, call) => {
      await files.remove(path, call);
      expect(await files.exists(path, call)).toBe(false);
      await files.write(path, 'again', call);
    },
    'keep metadata': async ({ files }, path, call) => {
      await files.write(path, 'x', { ...call, metadata: { job: '1' } });
      const { symlinkTarget = path } = await files.stat(path, call);
      expect((await files.stat(symlinkTarget, call)).metadata).toEqual({ job: '1' });
    },
  };

/** Calls of the client below a directory that a link of the user leads to; the directory has `inside`. */
const belowLinks: Record<string, (sandbox: Sandbox, link: string, scratch: string) => Promise<void>> = {
  list: async ({ files }, link) => {
    expect((await files.list(link)).map(({ path }) => path)).toEqual([`${link}/inside`]);
    expect((await files.list(link, { depth: 3 })).map(({ name }) => name)).toEqual(['inside']);
  },
  stat: async ({ files }, link) => {
    expect(await files.stat(link)).toMatchObject({ type: 'directory' });
    await expect(files.downloadDir(`${link}/inside`, '/nowhere')).rejects.toThrow('no directory');
  },
  write: async ({ files }, link) => {
    await files.write(`${link}/new`, 'x');
    await files.write(`${link}/deep/er/new`, 'x');
    await files.write(`${link}/new`, 'y');
    expect(await files.read(`${link}/new`)).toBe('y');
  },
  'make directories': async ({ files }, link) => {
    expect(await files.makeDir(`${link}/a/b`)).toBe(true);
    expect(await files.makeDir(link)).toBe(false);
  },
  move: async ({ files }, link) => {
    await files.move(`${link}/inside`, `${link}/sub/moved`);
    expect((await files.list(link)).map(({ name }) => name)).toEqual(['sub']);
  },
  remove: async ({ files }, link) => {
    await files.remove(`${link}/inside`);
    expect(await files.list(link)).toEqual([]);
    await files.remove(link);
    expect(await files.exists(link)).toBe(false);
  },
  watch: async ({ files }, link) => {
    for (const recursive of [false, true]) {
      const watch = await files.watch(link, { recursive, includeEntry: true });
      await files.write(`${link}/seen-${recursive}`, 'x');
      for await (const event of watch) {
        expect(event).toMatchObject({ name: `seen-${recursive}`, type: 'create' });
        expect(event.entry?.path).toBe(`${link}/seen-${recursive}`);
        break;
      }
    }
  },
  'upload and download': async ({ files }, link, scratch) => {
    await writeFile(join(scratch, 'up'), 'up');
    await files.uploadDir(scratch, link);
    await files.uploadDir(scratch, `${link}/below`);
    expect(await files.read(`${link}/below/up`)).toBe('up');
    await files.uploadDir(scratch, link, { user: 'root' });
    await files.downloadDir(link, join(scratch, 'by-root'), { user: 'root' });
    await files.downloadDir(link, join(scratch, 'down'));
    expect(await readFile(join(scratch, 'down', 'below', 'up'), 'utf8')).toBe('up');
  },
  'run in it': async ({ commands }, link) => {
    expect((await commands.run('ls', { cwd: link })).stdout).toContain('inside');
  },
};

// Hosts of Debian and others set fs.protected_regular, _fifos, _symlinks, _hardlinks: the gate sets them, too.
describeOnServer(
  'in directories that everyone may write to',
  (fixture) => {
    let sandbox: Sandbox;
    let scratch: string;
    let count = 0;
    beforeAll(async () => {
      for (const [name, value] of Object.entries({ regular: 1, fifos: 1, symlinks: 1 })) {
        const setting = Number(await readFile(`/proc/sys/fs/protected_${name}`, 'utf8'));
        expect(setting, `sysctl -w fs.protected_${name}=${value}`).toBeGreaterThanOrEqual(value);
      }
      scratch = await mkdtemp(join(tmpdir(), 'svc-shared-'));
      sandbox = await fixture.client().sandboxes.create({ timeoutMs: 600_000 });
    });
    afterAll(async () => {
      await sandbox?.kill();
      await rm(scratch, { recursive: true, force: true });
    });

    describe.each(['/tmp', '/var/tmp', '/dev/shm'])('%s', (directory) => {
      const paths = () => `${directory}/f${count++}`;
      for (const [thing, { as, may, make }] of Object.entries(things))
        it.each(Object.keys(operations))(`has ${thing}: %s`, async (operation) => {
          for (const user of everybody) {
            const path = paths();
            await sandbox.commands.run(make(path), { user: as });
            const done = operations[operation]!(sandbox, path, { user });
            if (needs[operation]!.every((need) => may[need].includes(user))) {
              await done;
              continue;
            }
            await expect(done, user).rejects.toThrow(/permission denied|not permitted/);
            if (operation === 'move') continue;
            expect((await sandbox.commands.run(`cat ${path}`, { user: as })).stdout).toBe('old\n');
          }
        });

      it.each(Object.keys(belowLinks))('has a link of the user to a directory: %s', async (operation) => {
        const link = paths();
        await sandbox.commands.run(`rm -rf ~/real; mkdir ~/real; touch ~/real/inside; ln -s ~/real ${link}`);
        await belowLinks[operation]!(sandbox, link, await mkdtemp(join(scratch, 'x-')));
      });

      it('has a link of the user to nothing: what it leads to is made', async () => {
        const path = paths();
        await sandbox.commands.run(`rm -f ~/nothing; ln -s ~/nothing ${path}`);
        expect(await sandbox.files.stat(path)).toMatchObject({ type: 'unknown', symlinkTarget: path });
        await sandbox.files.write(path, 'made');
        expect((await sandbox.commands.run('cat ~/nothing; stat -c %U ~/nothing')).stdout).toBe('madeuser\n');
      });

      it('has a fifo: it is no regular file, made by anyone', async () => {
        for (const user of everybody) {
          const path = paths();
          await sandbox.commands.run(`mkfifo ${path}; chmod 666 ${path}`, { user });
          await expect(sandbox.files.write(path, 'x')).rejects.toThrow(/not a regular file|device/);
          await expect(sandbox.files.read(path)).rejects.toThrow('not a regular file');
          await sandbox.files.remove(path, { user });
        }
      });

      it('has a link that another account planted: it is not followed, what it leads to is kept', async () => {
        const path = paths();
        await sandbox.commands.run(
          `echo kept > /root/secret; ln -s /root/secret ${path}; chown -h daemon ${path}`,
          {
            user: 'root',
          },
        );
        for (const call of [{}, { user: 'root' }]) {
          await expect(sandbox.files.write(path, 'evil', call)).rejects.toThrow('permission denied');
          await expect(sandbox.files.read(path, call)).rejects.toThrow('permission denied');
        }
        expect(await sandbox.files.read('/root/secret', { user: 'root' })).toBe('kept\n');
        await sandbox.files.remove(path, { user: 'root' });
      });
    });
  },
  ['linux'],
);
