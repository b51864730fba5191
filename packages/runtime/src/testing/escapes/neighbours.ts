import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import type { Workbench } from '../workbench.js';
import { type Outside, SECRET } from './outside.js';

/** A shell script that runs a Python program. */
const python = (program: string) => `python3 - <<'PROGRAM'\n${program}\nPROGRAM`;

/**
 * Gives its root, its /proc, a file and an open socket to every client of a socket in the volume. The directories let
 * the other side walk a tree that it has no mount of.
 */
const GIVER = `
import os, socket, array
s = socket.socket(socket.AF_UNIX)
s.bind("/data/door"); os.chmod("/data/door", 0o777); s.listen()
print("listening", flush=True)
c, _ = s.accept()
fds = [os.open("/", os.O_RDONLY), os.open("/proc", os.O_RDONLY), os.open("/etc/hostname", os.O_RDONLY), s.fileno()]
c.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
c.recv(1)
`;

/** Takes them and tries to get out by them; prints what it found. */
const taker = (path: string) => `
import os, socket, array
c = socket.socket(socket.AF_UNIX)
c.connect("/data/door")
fds = array.array("i")
_, anc, _, _ = c.recvmsg(1, socket.CMSG_SPACE(4 * 8))
for _, _, data in anc: fds.frombytes(data)
print("got", len(fds))
root, proc = fds[0], fds[1]
ways = ["../" * n + "${path.slice(1)}/secret" for n in range(0, 12)] + ["proc/1/root${path}/secret", "1/root${path}/secret", "self/root${path}/secret"]
for base in (root, proc):
    for way in ways:
        try: print(os.read(os.open(way, os.O_RDONLY, dir_fd=base), 100))
        except OSError: pass
    for up in ("..", "../..", "../../../../.."):
        there = os.open(up, os.O_RDONLY | os.O_DIRECTORY, dir_fd=base)
        print("up", sorted(os.listdir(there)) == sorted(os.listdir(root)) or sorted(os.listdir(there)))
        os.close(there)
    try: os.fchdir(base); os.chroot("../../.."); print("chroot", os.path.exists("${path}"))
    except OSError as e: print("no chroot", e.errno)
c.send(b"x")
`;

/** Attacks of root on the daemon of its own sandbox: everything that debuggers can do, and calls that only an attacker wants. */
const ON_DAEMON = `
import ctypes, os, signal, socket
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
def call(number, *args):
    r = libc.syscall(number, *args)
    return "ok" if r >= 0 else os.strerror(ctypes.get_errno())
daemons = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    try: args = open("/proc/%s/cmdline" % pid).read()
    except OSError: continue
    if "envd" in args and int(pid) != os.getpid(): daemons.append(int(pid))
print("daemons", len(daemons) > 0)
for pid in daemons:
    handle = libc.syscall(434, pid, 0)
    print("pidfd_open", handle >= 0)
    print("pidfd_getfd", sorted({call(438, handle, fd, 0) for fd in range(0, 64)}))
    buffer = ctypes.create_string_buffer(64)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 64)
    print("process_vm_readv", call(310, pid, vector, 1, vector, 1, 0))
    print("process_vm_writev", call(311, pid, vector, 1, vector, 1, 0))
    print("kcmp", call(312, pid, os.getpid(), 0, 0, 0))
    for fd in os.listdir("/proc/%d/fd" % pid):
        try: target = os.readlink("/proc/%d/fd/%s" % (pid, fd))
        except OSError: continue
        # Sockets cannot be opened again; a file of the host would be.
        if target.startswith("/") and not target.startswith(("/dev/", "/.sbx", "/proc/", "/memfd:")): print("open file", target)
    if libc.ptrace(16, pid, None, None) == 0:
        os.waitpid(pid, 0x40000000)
        libc.ptrace(17, pid, None, None)
print("environment", [name for pid in daemons for name in open("/proc/%d/environ" % pid).read().split("\\0") if "TOKEN" in name or "KEY" in name or "SECRET" in name])
`;

/** Attacks of sandboxes that share something, or know of each other, on each other and on the host. */
export function neighbourEscapes(bench: Workbench, outside: Outside): void {
  describe('sandboxes beside each other', () => {
    it('that pass descriptors through a socket in a shared volume give away nothing of the host', async () => {
      const { driver } = bench;
      if (!driver.capabilities.mounts) return;
      const path = await outside.make();
      await driver.volumes.make('shared');
      const mounts = [{ volumeId: 'shared', target: '/data' }];
      const [giver, other] = [await bench.create({ mounts }), await bench.create({ mounts })];
      const giving = await giver.client.start(python(GIVER), 'root');
      await eventually('the door to be open', () => giving.stdout().includes('listening'));
      const { stdout, stderr } = await other.client.run(python(taker(path)), 'root');
      expect(stdout, stderr).toContain('got 4');
      expect(stdout).not.toContain(SECRET);
      // Up from the other's root, there is nothing but that root.
      expect(stdout.match(/^up .*/gm)).toHaveLength(6);
      expect(stdout.match(/^up \[.*/gm)).toBeNull();
      expect(stdout).not.toContain('chroot True');
      await giving.result;
      await outside.expectUntouched();
      await driver.volumes.delete('shared');
    });

    it('reach none of each other by sockets, queues and memory that have names', async () => {
      const made = [await bench.create(), await bench.create()];
      const [first, second] = made.map(({ client }) => client);
      const offer = `
import socket, os, ctypes, time
s = socket.socket(socket.AF_UNIX); s.bind("\\0door-of-one"); s.listen()
libc = ctypes.CDLL(None)
print("shm", libc.shmget(4711, 4096, 0o1666) >= 0, "queue", libc.msgget(4712, 0o1666) >= 0)
open("/dev/shm/mark", "w").write("one")
print("ready", flush=True)
time.sleep(60)`;
      const look = `
import socket, os, ctypes
s = socket.socket(socket.AF_UNIX)
try: s.connect("\\0door-of-one"); print("connected")
except OSError as e: print("refused")
libc = ctypes.CDLL(None)
print(libc.shmget(4711, 4096, 0), libc.msgget(4712, 0), os.path.exists("/dev/shm/mark"))`;
      const offering = await first!.start(`${python(offer)}`, 'root');
      await eventually('the names to be there', () => offering.stdout().includes('ready'));
      expect((await first!.run(python(look), 'root')).stdout).toMatch(/^connected\n\d+ \d+ True\n$/);
      expect((await second!.run(python(look), 'root')).stdout).toBe('refused\n-1 -1 False\n');
      offering.leave();
    });

    it('may do to their own daemon what root does, and get nothing of the host or of a neighbour by it', async () => {
      const [{ client }, neighbour] = [await bench.create(), await bench.create()];
      const { stdout, stderr } = await client.run(python(ON_DAEMON), 'root');
      const lines = stdout.trim().split('\n');
      expect(lines[0], stderr).toBe('daemons True');
      const said = (name: string) => new Set(lines.filter((line) => line.startsWith(`${name} `)));
      expect(said('pidfd_open')).toEqual(new Set(['pidfd_open True']));
      expect(said('pidfd_getfd')).toEqual(new Set(["pidfd_getfd ['Operation not permitted']"]));
      expect(said('process_vm_readv')).toEqual(new Set(['process_vm_readv Function not implemented']));
      expect(said('process_vm_writev')).toEqual(new Set(['process_vm_writev Function not implemented']));
      expect(said('kcmp')).toEqual(new Set(['kcmp Operation not permitted']));
      expect(said('open file')).toEqual(new Set());
      expect(said('environment')).toEqual(new Set(['environment []']));
      expect((await client.run('kill -9 -1', 'root').catch(() => undefined))?.exitCode ?? -1).not.toBe(0);
      expect(await neighbour.client.output('echo alive')).toBe('alive');
    });
  });

  describe('files of a volume', () => {
    it('that are no files keep nobody waiting and break nothing', async () => {
      const { driver } = bench;
      if (!driver.capabilities.mounts) return;
      await driver.volumes.make('odd');
      const { client } = await bench.create({ mounts: [{ volumeId: 'odd', target: '/data' }] });
      const odd = `import os, socket
os.mkfifo("/data/pipe"); socket.socket(socket.AF_UNIX).bind("/data/socket"); os.symlink("loop", "/data/loop")`;
      const { stderr } = await client.run(python(odd), 'root');
      expect(stderr).toBe('');
      const content = driver.volumes.content('odd');
      for (const name of ['pipe', 'socket', 'loop']) {
        await expect(content.read(`/${name}`), name).rejects.toMatchObject({ code: 'invalid_request' });
        await content.stat(`/${name}`);
      }
      for (const name of ['pipe', 'socket']) {
        await content.change(`/${name}`, { mode: 0o600, uid: 7, gid: 7 });
        await content.write(`/${name}`, Readable.from(['plain']), { force: true });
        expect(await client.output(`cat /data/${name}`)).toBe('plain');
      }
      await driver.volumes.delete('odd');
    });
  });
}
