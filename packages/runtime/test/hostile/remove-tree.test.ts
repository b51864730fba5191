import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { jailCommand } from '../../src/jail/jail-task.js';
import { removeInTree, removeTree } from '../../src/jail/remove-tree.js';
import { runProgram } from '../../src/shared/run-program.js';
import { Outside } from '../../src/testing/escapes/outside.js';
import { tarBytes } from '../../src/testing/tar.js';

const able = process.platform === 'linux' && process.getuid?.() === 0;
const outside = new Outside();
let folder: string | undefined;
let swapper: ChildProcess | undefined;

afterEach(async () => {
  swapper?.kill('SIGKILL');
  await outside.remove();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Swaps in the tree until it is killed: a directory with files of the same names for a link to the outside. */
async function startSwapper(tree: string, target: string): Promise<() => number> {
  const program = `
$| = 1; my ($tree, $target) = @ARGV; my $swaps = 0; chdir $tree or die;
sub fill { my $d = shift; mkdir "d$d"; mkdir "d$d/in"; for my $f ("secret", "hosts", "hostname", "bin", 1..50) { open my $h, ">", "d$d/in/$f" } }
for (;;) { for my $d (0..9) {
  if (!rename "d$d/in", "k$d") { fill($d); next }
  symlink $target, "d$d/in"; unlink "d$d/in"; rename "k$d", "d$d/in"; $swaps++; print "$swaps\\n" unless $swaps % 500;
} }`;
  swapper = spawn('perl', ['-e', program, tree, target], { stdio: ['ignore', 'pipe', 'inherit'] });
  let swaps = 0;
  swapper.stdout!.setEncoding('utf8').on('data', (text: string) => {
    swaps = Number(text.trim().split('\n').at(-1));
  });
  await once(swapper.stdout!, 'data');
  return () => swaps;
}

describe.skipIf(!able)('the removal of a tree that a program changes', () => {
  it('removes nothing outside of it, in thousands of swaps of directories for links', async () => {
    const target = await outside.make();
    folder = await mkdtemp(join(tmpdir(), 'tree-'));
    await mkdir(join(folder, 'tree'));
    const swaps = await startSwapper(join(folder, 'tree'), target);
    const wanted = Number(process.env.SVC_ESCAPE_TRIES ?? (process.env.SVC_HEAVY ? 20_000 : 2_000));
    for (let round = 0; round < 10 || swaps() < wanted; round += 1) {
      await removeInTree(folder, `tree/d${round % 10}/in`).catch(() => undefined);
      await removeInTree(join(folder, 'tree'), `d${round % 10}`).catch(() => undefined);
    }
    swapper!.kill('SIGKILL');
    await once(swapper!, 'close');
    await removeTree(join(folder, 'tree'));
    expect(existsSync(join(folder, 'tree'))).toBe(false);
    await outside.expectUntouched();
  }, 600_000);

  it('removes what only another mount namespace has', async () => {
    const setUp =
      'mount -t tmpfs tmpfs /mnt && mkdir -p /mnt/tree/in && touch /mnt/tree/in/file && echo ready && exec sleep 60';
    swapper = spawn('unshare', ['--mount', 'sh', '-c', setUp], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(swapper.stdout!, 'data');
    const view = `/proc/${swapper.pid}/root/mnt`;
    expect(existsSync(`${view}/tree/in/file`)).toBe(true);
    await removeTree(`${view}/tree`);
    expect(existsSync(view)).toBe(true);
    expect(existsSync(`${view}/tree`)).toBe(false);
  });

  it('removes a link and not what it leads to', async () => {
    const target = await outside.make();
    folder = await mkdtemp(join(tmpdir(), 'tree-'));
    await runProgram('ln', ['-s', target, join(folder, 'link')]);
    await removeTree(join(folder, 'link'));
    await removeTree(join(folder, 'link'));
    expect(existsSync(join(folder, 'link'))).toBe(false);
    await outside.expectUntouched();
  });

  it('reaches the bottom of a tree that is deeper than any path may be long', async () => {
    folder = await mkdtemp(join(tmpdir(), 'tree-'));
    const dig = 'chdir $ARGV[0]; for (1..2100) { mkdir "d" or die; chdir "d" or die }';
    expect((await runProgram('perl', ['-e', dig, folder])).exitCode).toBe(0);
    await removeTree(join(folder, 'd'));
    expect(existsSync(join(folder, 'd'))).toBe(false);
  });

  it.each(['', '/etc', '..', 'a/../../b', './a'])('refuses the path %j', async (path) => {
    expect(() => jailCommand('/tmp', { kind: 'remove', paths: [path] })).toThrow(TypeError);
  });
});

describe.skipIf(!able)('a jail', () => {
  it('unpacks as nobody, and leaves entries without an owner in the archive to root', async () => {
    folder = await mkdtemp(join(tmpdir(), 'tree-'));
    await mkdir(join(folder, 'root'));
    const [command, ...args] = jailCommand(folder, { kind: 'extract', into: 'root' });
    const archive = tarBytes([
      { name: 'a/b/mine', uid: 1_000, mode: 0o600 },
      { name: 'a/b/sudo', uid: 0, mode: 0o4755 },
      { name: 'far', uid: 100_000 },
      { name: 'closed', type: 'directory', uid: 7, mode: 0o500 },
      { name: 'closed/in', uid: 7, mode: 0o400 },
      { name: 'a/link', type: 'symlink', linkname: '/etc/passwd', uid: 5 },
    ]);
    const jailed = spawn(command!, args, { stdio: ['pipe', 'inherit', 'inherit'] });
    jailed.stdin!.end(archive);
    expect(await once(jailed, 'close')).toEqual([0, null]);
    const { stdout } = await runProgram('find', [
      join(folder, 'root'),
      '-mindepth',
      '1',
      '-printf',
      '%P %U:%G %m\n',
    ]);
    expect(stdout.trim().split('\n').sort()).toEqual([
      'a 0:0 755',
      'a/b 0:0 755',
      'a/b/mine 1000:1000 600',
      'a/b/sudo 0:0 4755',
      'a/link 5:5 777',
      'closed 7:7 500',
      'closed/in 7:7 400',
      'far 100000:100000 644',
    ]);
  });

  it('shows its tree and the programs of the host, and nothing else', async () => {
    folder = await mkdtemp(join(tmpdir(), 'tree-'));
    await writeFile(join(folder, 'file'), 'mine');
    const [command, ...args] = jailCommand(folder, { kind: 'remove', paths: ['none'] });
    const user = args[args.indexOf('rm') - 1]!;
    const script = `ls -A / /dev /old /proc /usr/local; cat /tree/file; id -u; ls -d ${folder} /etc /root /home /var; mknod /tree/node c 1 3; mount; kill -9 ${process.pid}; chroot /tree /bin/true; unshare -m true; cat /sys/class/net/*/address`;
    const { stdout, stderr } = await runProgram(command!, [
      ...args.slice(0, args.indexOf('rm')),
      'sh',
      '-c',
      script,
    ]);
    expect(stdout.replaceAll(/^(lib\w*|s?bin)\n/gm, '')).toBe(
      `/:\ndev\nold\nproc\ntree\nusr\n\n/dev:\nnull\n\n/old:\n\n/proc:\n\n/usr/local:\nmine${user}\n`,
    );
    expect(Number(user)).toBeGreaterThanOrEqual(2 ** 31);
    expect(jailCommand(folder, { kind: 'remove', paths: ['none'] })).not.toContain(user);
    for (const refused of ['mknod', 'chroot', 'unshare', 'kill']) expect(stderr).toMatch(new RegExp(refused));
    expect(existsSync(join(folder, 'node'))).toBe(false);
  });
});
