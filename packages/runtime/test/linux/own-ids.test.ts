import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { baseDirectory, baseRecipe, findBase } from '../../src/host/base-root.js';
import { limitsQueues, MESSAGE_QUEUES } from '../../src/host/host-limits.js';
import { NamespaceKeeper } from '../../src/linux-driver/namespace/namespace-keeper.js';
import { rootOf } from '../../src/linux-driver/state/mount-points.js';
import { pathsOf } from '../../src/linux-driver/state/paths.js';
import { type InstanceEntry, Records } from '../../src/linux-driver/state/records.js';
import { runProgram } from '../../src/shared/run-program.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { tarOfEntries } from '../../src/testing/tar.js';
import { linuxBench, withLinuxBench } from '../support/linux-bench.js';
import { linuxSkipReason, memorySkipReason } from '../support/linux-host.js';

const skip = linuxSkipReason();
const noMemory = memorySkipReason();
const noBase =
  findBase(baseDirectory({}), await baseRecipe())?.upToDate === true ? undefined : 'the base is not built';

/** Tries, with the rights of root in a sandbox and a process's id or descriptor, what only its owner may do to it. */
const MEDDLE = `
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
def outcome(call):
    ctypes.set_errno(0)
    return "ok" if call() == 0 else os.strerror(ctypes.get_errno())
fd = int(sys.argv[1]); pid = int(sys.argv[2])
print(outcome(lambda: libc.kill(pid, 0)))
print(outcome(lambda: libc.syscall(424, fd, 0, None, 0)))
print(outcome(lambda: libc.ptrace(16, pid, None, None)))
print("ok" if libc.syscall(438, fd, 0, 0) >= 0 else os.strerror(ctypes.get_errno()))`;

/** Takes what the kernel counts per user until it is refused, keeps it, and says how much that was. */
const GREED: Record<string, string> = {
  'inotify instances': `
held = []
while len(held) < 15000:
    fd = libc.inotify_init1(0)
    if fd < 0: break
    held.append(fd)`,
  'pending signals': `
libc.signal(40, 1); signal.pthread_sigmask(signal.SIG_BLOCK, [40]); held = []
while len(held) < 200000 and libc.sigqueue(os.getpid(), 40, None) == 0: held.append(1)`,
  'pipe buffers': `
held = []
while len(held) < 4000:
    try: r, w = os.pipe(); held.append((r, w)); fcntl.fcntl(w, 1031, 1 << 20)
    except OSError: break`,
  'message queues': `
held = []
while len(held) < 1000:
    if libc.mq_open(b"/q%d-%d" % (os.getuid(), len(held)), os.O_CREAT | os.O_RDWR, 0o600, None) < 0: break
    held.append(1)`,
  'locked shared memory': `
held = []
while len(held) < 64:
    segment = libc.shmget(0, 1 << 20, 0o1600)
    if segment < 0 or libc.shmctl(segment, 11, None) != 0: break
    held.append(1)`,
};
/** The resources that root takes as so many of its users, one after another: the kernel counts for each by itself. */
const USERS: Record<string, number> = { 'message queues': 40, 'locked shared memory': 40 };
const greedy = (what: string) => `
import ctypes, fcntl, os, signal, time
libc = ctypes.CDLL(None, use_errno=True)
def take():
${(GREED[what] ?? '').replaceAll('\n', '\n    ')}
    return held
taken = [take()]
if os.getuid() == 0:
    for each in range(1, ${USERS[what] ?? 1}):
        os.setresuid(2000 + each, 2000 + each, 0)
        taken.append(take())
        os.seteuid(0)
    os.setresuid(0, 0, 0)
open("/tmp/greed", "w").write(str(sum(map(len, taken))))
time.sleep(1000)`;

/** Tries to get one more of each. */
const ONE_MORE = `
import ctypes, fcntl, os, signal
queue = b"/one-more-%d" % os.getpid()
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(0); assert fd >= 0, "inotify instance"
assert libc.inotify_add_watch(fd, b"/", 2) >= 0, "inotify watch"
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
assert libc.sigqueue(os.getpid(), 40, None) == 0, "signal"
r, w = os.pipe(); fcntl.fcntl(w, 1031, 1 << 17)
assert libc.mq_open(queue, os.O_CREAT | os.O_RDWR, 0o600, None) >= 0, "message queue"
assert libc.mq_unlink(queue) == 0
segment = libc.shmget(0, 1 << 20, 0o1600); assert segment >= 0, "shared memory"
locked = libc.shmctl(segment, 11, None); libc.shmctl(segment, 0, None)
assert locked == 0, "locked memory"
print("fine")`;

describe.skipIf(skip !== undefined)('an instance with host ids of its own', () => {
  const bench = linuxBench({ storeSizeMiB: 4096 });

  const entryOf = (id: string): InstanceEntry =>
    new Records(pathsOf(bench.dataDir).instances).all().find((each) => each.id === id)!;
  const mapOf = (entry: InstanceEntry, file = 'uid_map') =>
    readFileSync(`/proc/${entry.pid}/${file}`, 'utf8').trim().split(/\s+/).map(Number);
  const keeper = () => NamespaceKeeper.find(pathsOf(bench.dataDir))!;
  /** Runs a program of the host with the rights of a sandbox's root, and without anything else that holds it. */
  const asRootOf = (entry: InstanceEntry, ...command: string[]) =>
    runProgram('nsenter', ['--user', `--target=${entry.pid}`, '--setuid=0', '--setgid=0', ...command]);

  it('is nobody on the host, and nobody to its neighbours', async () => {
    const one = await bench.create();
    const two = await bench.create();
    const [first, second] = [entryOf(one.instance.id), entryOf(two.instance.id)];
    for (const entry of [first, second]) {
      expect(mapOf(entry)).toEqual([0, entry.firstId, 65_536]);
      expect(mapOf(entry, 'gid_map')).toEqual([0, entry.firstId, 65_536]);
      expect(entry.firstId).toBeGreaterThanOrEqual(0x20000000);
      expect(statSync(`/proc/${entry.pid}`).uid).toBe(entry.firstId);
    }
    expect(Math.abs(first.firstId! - second.firstId!)).toBeGreaterThanOrEqual(65_536);
    // A file that only root of the host may read stays closed even where nothing hides it.
    for (const file of [
      'kpagecount',
      'kpageflags',
      'slabinfo',
      'vmallocinfo',
      '1/environ',
      '1/root/etc/shadow',
    ])
      expect((await asRootOf(first, 'cat', `/proc/${file}`)).stderr, file).toMatch(/Permission denied/);
    for (const pid of [second.pid!, process.pid]) {
      const script = `import os, sys\nfd = os.pidfd_open(${pid}); os.set_inheritable(fd, True)\nos.execvp("nsenter", ["nsenter", "--user", "--target=${first.pid}", "--setuid=0", "--setgid=0", "python3", "-c", sys.argv[1], str(fd), "${pid}"])`;
      const { stdout } = await runProgram('python3', ['-c', script, MEDDLE]);
      expect(stdout.trim().split('\n')).toEqual(Array.from({ length: 4 }, () => 'Operation not permitted'));
    }
  });

  it('owns its files on the host by its range, and on disk by the numbers that it sees', async () => {
    const { instance, client } = await bench.create();
    await client.output('echo mine > /tmp/mine; echo more >> ~/.bashrc');
    await client.run('touch /etc/roots; chown 65535:65535 /usr/bin/env', 'root');
    const entry = entryOf(instance.id);
    const owner = (path: string) => statSync(keeper().view(path)).uid;
    const root = rootOf(entry.name);
    expect(owner(`${root}/tmp/mine`)).toBe(entry.firstId! + 1000);
    expect(owner(`${root}/etc/roots`)).toBe(entry.firstId!);
    const upper = join(pathsOf(bench.dataDir).store, 'i', entry.name, 'sv');
    expect(owner(`${upper}/u/tmp/mine`)).toBe(1000);
    expect(owner(`${upper}/u/etc/roots`)).toBe(0);
    expect(owner(`${upper}/uu/bin/env`)).toBe(65_535);
    expect(await client.output('stat -c %u:%g /etc/passwd /usr/bin/env /home/user/.bashrc')).toBe(
      '0:0\n65535:65535\n1000:1000',
    );
    expect((await client.run('chown 65536 /etc/roots', 'root')).exitCode).not.toBe(0);
  });

  it('runs set-uid programs, which make root of the sandbox and of nothing else', async () => {
    const { instance, client } = await bench.create();
    await client.run('cp /bin/dash /tmp/rootsh; chown root /tmp/rootsh; chmod 4755 /tmp/rootsh', 'root');
    expect(
      await client.output('/tmp/rootsh -p -c "id -u; touch /etc/by-user; stat -c %u /etc/by-user"'),
    ).toBe('0\n0');
    const { firstId } = entryOf(instance.id);
    const running = await client.start('exec /tmp/rootsh -p -c "echo ready; sleep 1000; true"');
    await eventually('the shell of root', () => running.stdout().includes('ready'));
    const owners = new Set(
      readdirSync('/proc')
        .filter((pid) => /^\d+$/.test(pid))
        .flatMap((pid) => {
          const status = (() => {
            try {
              return readFileSync(`/proc/${pid}/status`, 'utf8');
            } catch {
              return '';
            }
          })();
          return /^Name:\s+rootsh$/m.test(status) ? [/^Uid:\s+\d+\s+(\d+)/m.exec(status)?.[1]] : [];
        }),
    );
    expect(owners).toContain(String(firstId));
    // The capabilities of a container engine, raw sockets excepted.
    expect(await client.output('grep CapBnd /proc/self/status')).toMatch(/00000000a80405fb$/);
  });

  it.skipIf(noBase !== undefined)('lets the user of the template base become root with sudo', async () => {
    await withLinuxBench({ storeSizeMiB: 1024, baseRoot: 'debian' }, async (other) => {
      const { client } = await other.create();
      expect(await client.output('sudo id -u; sudo -u nobody id -un; sudo su user -c "id -un"')).toBe(
        '0\nnobody\nuser',
      );
      expect(
        await client.output(
          'sudo touch /usr/lib/made; sudo chown 33:33 /usr/lib/made; stat -c %u /usr/lib/made',
        ),
      ).toBe('33');
      expect(
        await client.output(
          'ping -c 1 -W 2 127.0.0.1 >/dev/null && echo answered || command -v ping || echo none',
        ),
      ).toMatch(/answered|none/);
    });
  });

  it('shows the content of images with ids beyond its own as nobody, and gives no power over it', async () => {
    const { id } = await bench.driver.layers.importTar(
      tarOfEntries([
        { name: 'opt/far', content: 'far', uid: 70_000, mode: 0o4755 },
        // A file that the driver itself writes into a running sandbox has this number for a moment.
        { name: 'opt/hosts', content: 'hosts', uid: 0xfffffff0, mode: 0o4755 },
      ]),
    );
    const { client } = await bench.create({ layers: [id] });
    expect(await client.output('stat -c %u /opt/far /opt/hosts')).toBe('65534\n65534');
    for (const name of ['far', 'hosts'])
      expect((await client.run(`chown 0 /opt/${name} || echo x > /opt/${name}`, 'root')).exitCode).not.toBe(
        0,
      );
  });

  it('shares volumes with others by the numbers that each sees', async () => {
    await bench.driver.volumes.make('shared');
    const mounts = [{ volumeId: 'shared', target: '/data' }];
    const one = await bench.create({ mounts });
    const two = await bench.create({ mounts });
    await one.client.output('echo one > /data/one; chmod 600 /data/one');
    await one.client.run('cp /bin/dash /data/rootsh; chmod 4755 /data/rootsh', 'root');
    expect(
      await two.client.output('stat -c %u:%g /data/one /data/rootsh; cat /data/one; echo two >> /data/one'),
    ).toBe('1000:1000\n0:0\none');
    expect(await one.client.output('cat /data/one')).toBe('one\ntwo');
    expect(await two.client.output('/data/rootsh -p -c "id -u"')).toBe('1000');
    expect(await bench.driver.volumes.content('shared').stat('/one')).toMatchObject({ uid: 1000, gid: 1000 });
    expect(await two.client.output('grep " /data " /proc/self/mountinfo')).toMatch(/nosuid,nodev/);
  });

  it.skipIf(noMemory !== undefined)(
    'has another range as a copy than its source, pending state included',
    async () => {
      const { instance, client } = await bench.create();
      await client.start(
        `exec python3 -c '
import os, time
f = open("/tmp/gone", "w+"); f.write("ghost"); f.flush(); os.unlink("/tmp/gone")
open("/dev/shm/shared", "w").write("shared")
os.mkfifo("/tmp/ask"); open("/tmp/ask").read(); f.seek(0)
open("/tmp/answer", "w").write("%s %d %d" % (f.read(), os.fstat(f.fileno()).st_uid, os.stat("/dev/shm/shared").st_uid)); time.sleep(1000)'`,
      );
      await client.output('until test -p /tmp/ask; do :; done');
      await instance.checkpoint({ checkpointId: 'ranges', memory: true, then: 'continue' });
      const copies = await Promise.all([bench.restore('ranges', true), bench.restore('ranges', true)]);
      const ranges = [instance.id, ...copies.map((copy) => copy.instance.id)].map((id) => entryOf(id));
      expect(new Set(ranges.map((entry) => entry.firstId)).size).toBe(3);
      for (const entry of ranges) expect(mapOf(entry)).toEqual([0, entry.firstId, 65_536]);
      for (const copy of copies) {
        await copy.client.output('echo > /tmp/ask; until test -s /tmp/answer; do :; done');
        expect(await copy.client.output('cat /tmp/answer')).toBe('ghost 1000 1000');
        expect((await copy.client.run('cp /bin/dash /tmp/r; chmod 4755 /tmp/r', 'root')).exitCode).toBe(0);
        expect(
          await copy.client.output('/tmp/r -p -c "id -u"; cat /proc/sys/net/ipv4/ping_group_range'),
        ).toBe('0\n0\t65535');
      }
    },
  );

  it('gets its range out of the ids that the operator chose, and out of no others', async () => {
    // Below what drivers take by themselves, and distinct from another run of this test.
    const first = 0x10000000 + (process.pid % 4096) * 65_536;
    await withLinuxBench({ storeSizeMiB: 1024, ids: { first, count: 65_536 } }, async (other) => {
      const { instance } = await other.create();
      const entries = new Records(pathsOf(other.dataDir).instances).all();
      expect(mapOf(entries.find(({ id }) => id === instance.id)!)).toEqual([0, first, 65_536]);
      await expect(other.create()).rejects.toMatchObject({ code: 'no_capacity' });
      if (memorySkipReason() !== undefined) return;
      // A trial of what is stored finds no second range, which is no fault of what is stored.
      await expect(
        instance.checkpoint({ checkpointId: 'full', memory: true, then: 'destroy' }),
      ).resolves.toMatchObject({ memory: true });
    });
    const taken = { first: 65_535, count: 65_536 };
    await expect(withLinuxBench({ ids: taken }, async () => undefined)).rejects.toThrow(/choose a higher/);
  });

  it('works for a service whose files are for itself alone', async () => {
    const before = process.umask(0o077);
    try {
      await withLinuxBench({ storeSizeMiB: 1024 }, async (other) => {
        expect(other.driver.capabilities.reasons.join()).not.toMatch(/user ids|ids of their own/);
        const { client } = await other.create();
        expect(await client.output('ls -d /sys/devices/system/cpu; echo x > /dev/null; id -u')).toBe(
          '/sys/devices/system/cpu\n1000',
        );
      });
    } finally {
      process.umask(before);
    }
  });

  it('keeps its range over a restart of the driver, and gives it back at its end', async () => {
    const { instance } = await bench.create();
    const { firstId, name } = entryOf(instance.id);
    await bench.reopen();
    const adopted = (await bench.driver.adopt(instance.id))!;
    const others = await Promise.all([bench.create(), bench.create()]);
    for (const other of others) expect(entryOf(other.instance.id).firstId).not.toBe(firstId);
    expect(await new DaemonClient(adopted).output('id -u')).toBe('1000');
    await adopted.destroy();
    await bench.driver.reap({ instanceIds: others.map((other) => other.instance.id), checkpointIds: [] });
    expect(readdirSync(keeper().view('/run/instances'))).not.toContain(name);
    const mounts = readFileSync(`/proc/${keeper().pid}/mountinfo`, 'utf8');
    expect(mounts).not.toContain(name);
    expect(mounts.split('\n').filter((line) => /\/view\d/.test(line.split(' ')[4] ?? ''))).toEqual([]);
  });

  it.skipIf(noMemory !== undefined || !limitsQueues())(
    'has a few message queues for all its users, cannot get more, and neither can a copy of its memory',
    async () => {
      const { instance } = await bench.create();
      const checkpointId = `queues-${instance.id}`;
      await instance.checkpoint({ checkpointId, memory: true, then: 'continue' });
      const copy = await bench.restore(checkpointId, true);
      for (const client of [new DaemonClient(instance), copy.client]) {
        const raised = await client.run('echo 9 >/proc/sys/fs/mqueue/queues_max', 'root');
        expect(raised.exitCode).not.toBe(0);
        await client.start(`exec python3 -c '${greedy('message queues')}'`, 'root');
        await client.run('until test -s /tmp/greed; do :; done', 'root');
        expect(await client.output('cat /tmp/greed')).toBe(String(MESSAGE_QUEUES));
      }
    },
  );

  it.each(Object.keys(GREED))('uses up its own %s only', async (what) => {
    const greedyOne = await bench.create({ limits: { memoryMiB: 1024, pids: 256 } });
    const neighbour = await bench.create();
    // As several users, as root inside may be.
    for (const user of ['user', 'root'])
      await greedyOne.client.start(
        `exec python3 -c '${greedy(what).replace(/\/tmp\//g, `/tmp/${user}-`)}'`,
        user,
      );
    await greedyOne.client.run(
      'until test -s /tmp/user-greed && test -s /tmp/root-greed; do :; done',
      'root',
    );
    // Of what a sandbox has few of, the one that was quicker may have taken all.
    const taken = (await greedyOne.client.output('cat /tmp/user-greed; echo; cat /tmp/root-greed')).split(
      '\n',
    );
    expect(taken.reduce((sum, each) => sum + Number(each), 0)).toBeGreaterThan(0);
    expect(await neighbour.client.output(`python3 -c '${ONE_MORE}'`)).toBe('fine');
    expect((await runProgram('python3', ['-c', ONE_MORE])).stdout.trim()).toBe('fine');
  });
});
