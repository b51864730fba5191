import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdtemp, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { runProgram } from '../../src/shared/run-program.js';
import { Outside, SECRET } from '../../src/testing/escapes/outside.js';
import { VolumeProcess } from '../../src/volume-process/volume-process.js';

const able = process.platform === 'linux' && process.getuid?.() === 0;

describe.skipIf(!able)('the process that works on files of volumes', () => {
  const outside = new Outside();
  let folder: string;
  let volumes: string;
  let process_: VolumeProcess;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'volumes-'));
    volumes = join(folder, 'v');
    for (const name of ['mine', 'theirs', basename(folder)])
      mkdirSync(join(volumes, name), { recursive: true });
    chmodSync(join(volumes, 'mine'), 0o777);
    process_ = new VolumeProcess(async () => ({ directory: volumes, enter: (command) => [...command] }));
  });

  afterEach(async () => {
    await process_.close();
    await outside.remove();
    // Deeper than Node's own goes.
    await runProgram('rm', ['-rf', folder]);
  });

  /** Its number, found among all processes by its title and by the volume that only this test has. */
  function pid(): number {
    const listed = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' });
    const found = [...listed.matchAll(/^\s*(\d+) svc-volumes/gm)]
      .map(([, number]) => Number(number))
      .find((each) => existsSync(`/proc/${each}/root/volumes/${basename(folder)}`));
    if (found === undefined) throw new Error('there is no such process');
    return found;
  }

  it('continues after large uploads that it refuses unread', async () => {
    const content = process_.content('mine');
    const upload = () => content.write('/here', Readable.from([Buffer.alloc(6_000_000)]), {});
    await upload();
    for (let tries = 0; tries < 6; tries += 1)
      await expect(upload()).rejects.toMatchObject({ code: 'path_already_exists' });
    expect(await content.stat('/here')).toMatchObject({ size: 6_000_000 });
  });

  it('cannot fill the memory of the process that started it with what it prints', async () => {
    // Beside the program, with its output: it prints on request, and reports whether anybody reads it.
    const [start, taken] = [join(folder, 'start'), join(folder, 'taken')];
    execFileSync('mkfifo', [start]);
    const print = `(read -r _ <"$0"; env printf more 2>/dev/null; echo $? >"$1.new"; mv "$1.new" "$1") & shift; exec "$@"`;
    const loud = new VolumeProcess(async () => ({
      directory: volumes,
      enter: (command) => ['sh', '-c', print, start, taken, ...command],
    }));
    try {
      await loud.content('mine').stat('/');
      await writeFile(start, '\n');
      await eventually('the program to print', () => existsSync(taken));

      expect(readFileSync(taken, 'utf8')).not.toBe('0\n');
    } finally {
      await loud.close();
    }
  });

  it('is started once by calls that come at the same time', async () => {
    let started = 0;
    const one = new VolumeProcess(async () => {
      started += 1;
      return { directory: volumes, enter: (command) => [...command] };
    });
    try {
      await Promise.all(['/a', '/b', '/c'].map((path) => one.content('mine').makeDirectory(path, {})));
      expect(started).toBe(1);
    } finally {
      await one.close();
    }
  });

  it('has no rights on the host, and sees nothing but the volumes and the programs', async () => {
    await process_.content('mine').write('/file', Readable.from(['x']), {});
    const root = `/proc/${pid()}/root`;
    const listed = execFileSync('ls', ['-A', root, `${root}/old`, `${root}/usr/local`], { encoding: 'utf8' });
    expect(listed.replaceAll(/^(lib\w*|s?bin)\n/gm, '').replaceAll(root, '')).toBe(
      ':\ndev\nold\nproc\nusr\nvolumes\n\n/old:\n\n/usr/local:\n',
    );
    const status = readFileSync(`/proc/${pid()}/status`, 'utf8');
    expect(status).toMatch(/^Seccomp:\t2$/m);
    expect(status).toMatch(/^Uid:\t([2-4]\d{9})\t\1\t\1\t\1$/m);
    expect(status).toMatch(/^Groups:\s*$/m);
    expect(status).toMatch(/^NoNewPrivs:\s1$/m);
    // chown, dac_override, fowner, fsetid, and those only in its own user namespace.
    expect(status).toMatch(/^CapBnd:\s000000000000001b$/m);
    for (const kind of ['user', 'mnt', 'net', 'pid', 'ipc', 'uts'])
      expect(readlinkSync(`/proc/${pid()}/ns/${kind}`), kind).not.toBe(readlinkSync(`/proc/self/ns/${kind}`));
    expect(readFileSync(`/proc/${pid()}/limits`, 'utf8')).toMatch(/^Max core file size\s+0\s+0/m);
    expect(readFileSync(`/proc/${pid()}/environ`, 'utf8')).not.toMatch(/SVC_|KEY|TOKEN/);
    const mounts = readFileSync(`/proc/${pid()}/mountinfo`, 'utf8').trim().split('\n');
    const writable = mounts
      .map((line) => line.split(' '))
      .filter(([, , , , , options]) => /^rw/.test(options!));
    expect(writable.map(([, , , , point]) => point).sort()).toEqual(['/dev/null', '/proc', '/volumes']);
  });

  it('keeps and sets owners, root where none is named', async () => {
    const content = process_.content('mine');
    await content.write('/a/b/file', Readable.from(['x']), { force: true });
    await content.write('/a/owned', Readable.from(['x']), { uid: 1000, gid: 4_000_000_000, mode: 0o2750 });
    await content.makeDirectory('/dir', { uid: 1234, gid: 5678 });
    const owner = (path: string) => {
      const { uid, gid, mode } = lstatSync(join(volumes, 'mine', path));
      return [uid, gid, mode & 0o7777];
    };
    expect(owner('a')).toEqual([0, 0, 0o755]);
    expect(owner('a/b/file')).toEqual([0, 0, 0o644]);
    expect(owner('a/owned')).toEqual([1000, 4_000_000_000, 0o2750]);
    expect(owner('dir')).toEqual([1234, 5678, 0o755]);
    // The mode holds for every owner.
    chmodSync(join(volumes, 'mine/dir'), 0);
    await content.write('/dir/file', Readable.from(['deep']), {});
    expect(await text((await content.read('/dir/file')).content)).toBe('deep');
    await content.remove('/dir');
    expect(existsSync(join(volumes, 'mine/dir'))).toBe(false);
  });

  it('finds nothing outside of its volume, and nothing at all outside of the volumes', async () => {
    const path = await outside.make();
    await writeFile(join(volumes, 'theirs', 'secret'), SECRET, { mode: 0o644 });
    const content = process_.content('mine');
    const ways = [
      path,
      '../theirs',
      '/volumes/theirs',
      '/proc/self/root/volumes/theirs',
      '/proc/1/root',
      '/old',
    ];
    for (const [index, way] of ways.entries()) {
      await symlink(way, join(volumes, 'mine', `link${index}`));
      for (const at of [
        `/link${index}/secret`,
        `/link${index}/../secret`,
        `${way}/secret`,
        `/../${way}/secret`,
      ]) {
        await expect(content.read(at), at).rejects.toMatchObject({ name: 'VolumeError' });
        await expect(content.change(at, { mode: 0o777 }), at).rejects.toMatchObject({ name: 'VolumeError' });
      }
      await content.remove(`/link${index}`);
    }
    await outside.expectUntouched();
  });

  it('continues for others with any tree that a program builds, and leaves nothing of it behind', async () => {
    // The kinds of files that root in a sandbox can make, and device nodes, which it cannot.
    const hostile = `chdir $ARGV[0] or die;
mkdir "names"; for (0..20) { open my $h, ">", "names/" . ("\\xff" x 250) . $_ or die "$!" }
mkdir "names/\\xfe"; open my $in, ">", "names/\\xfe/in"; open my $text, ">", "names/text";
for (62, 60, 50, 44, 43, 40) { open my $h, ">", "sparse"; last if truncate $h, 2 ** $_ }
mkdir "deep"; chdir "deep" or die;
symlink "d/" x 1000, "link"; for (1 .. 3000) { mkdir "d" or die; chdir "d" or die }`;
    expect((await runProgram('perl', ['-e', hostile, join(volumes, 'mine')])).exitCode).toBe(0);
    execFileSync('sh', ['-c', 'mkfifo pipe; mknod null c 1 3; mknod disk b 7 0; truncate -s 8M shrinks'], {
      cwd: join(volumes, 'mine'),
    });
    const mine = process_.content('mine');
    expect((await mine.list('/names', 2)).map(({ name }) => name)).toEqual(['text']);
    expect(await mine.list('/deep', 10)).toHaveLength(11);
    for (const name of ['null', 'disk', 'pipe'])
      await expect(mine.read(`/${name}`), name).rejects.toMatchObject({ name: 'VolumeError' });
    const { sizeBytes, content } = await mine.read('/sparse');
    expect(sizeBytes).toBeGreaterThan(2 ** 40);
    for await (const _ of content) break;
    // The process serves all teams: no path may cost it many descriptors, or much time.
    const tooDeep = { name: 'VolumeError', code: 'invalid_request' };
    await expect(mine.stat(`/deep${'/d'.repeat(2_900)}`)).rejects.toMatchObject(tooDeep);
    const deep = Array.from({ length: 10 }, () => mine.stat(`/deep${'/d'.repeat(600)}/d`));
    const linked = Array.from({ length: 10 }, () => mine.list('/deep/link', 1));
    const theirs = Promise.all(
      Array.from({ length: 20 }, (_, at) => process_.content('theirs').makeDirectory(`/${at}`, {})),
    );
    for (const each of [...deep, ...linked]) each.catch(() => undefined);
    await theirs;
    for (const each of [...deep, ...linked]) await expect(each).rejects.toMatchObject(tooDeep);
    const shrinks = (await mine.read('/shrinks')).content;
    await truncate(join(volumes, 'mine', 'shrinks'), 1);
    let read = 0;
    for await (const chunk of shrinks) read += (chunk as Buffer).length;
    expect(read).toBeLessThanOrEqual(8 * 2 ** 20);
    for (const name of ['names', 'deep', 'sparse', 'pipe', 'null', 'disk', 'shrinks'])
      await mine.remove(`/${name}`);
    expect(await mine.list('/', 1)).toEqual([]);
    expect(await process_.content('theirs').list('/', 1)).toHaveLength(20);
  });

  it('is started again when it was killed, and ends with its owner', async () => {
    const content = process_.content('mine');
    await content.makeDirectory('/one', {});
    const first = pid();
    process.kill(first, 'SIGKILL');
    await eventually('it to exit', async () => !existsSync(`/proc/${first}`));
    await eventually('the next one to answer', () =>
      content.makeDirectory('/two', { force: true }).then(
        () => true,
        () => false,
      ),
    );
    const second = pid();
    expect(second).not.toBe(first);
    await process_.end();
    await eventually('it to exit', async () => !existsSync(`/proc/${second}`));
    expect((await content.list('/', 1)).map(({ name }) => name)).toEqual(['one', 'two']);
    await process_.close();
    await expect(content.stat('/one')).rejects.toMatchObject({ code: 'closed' });
  });
});
