import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { findProgram } from '../../src/host/programs.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { linuxBench, withLinuxBench } from '../support/linux-bench.js';
import { linuxSkipReason } from '../support/linux-host.js';
import { takeAddresses } from '../support/public-addresses.js';

const skip = linuxSkipReason();
const ENV = { PATH: '/usr/sbin:/sbin:/usr/bin:/bin' };
const LIMITS = { cpuCount: 1, memoryMiB: 256, diskMiB: 200, pids: 128 };

describe.skipIf(skip !== undefined)('isolation of linux instances', () => {
  const bench = linuxBench({ storeSizeMiB: 4096 });

  it('hides the files of the host', async () => {
    const secret = await mkdtemp(join(tmpdir(), 'host-secret-'));
    try {
      await writeFile(join(secret, 'marker-of-the-host'), 'x');
      const { client } = await bench.create();
      const found = await client.run(
        'find / -xdev -name "marker-of-the-host*" 2>/dev/null; ls -A /root /home',
        'root',
      );
      expect(found.stdout).not.toContain('marker');
      expect((await client.run(`ls ${secret} ${bench.dataDir} ${process.cwd()}`, 'root')).exitCode).not.toBe(
        0,
      );
      const users = await client.output('cut -d: -f1 /etc/passwd');
      expect(users.split('\n')).toContain('user');
      expect((await client.run('cat /etc/shadow', 'root')).stdout).not.toMatch(/\$[a-z0-9]+\$/);
      expect((await client.run('ls -A /usr/local/bin', 'root')).stdout).toBe('');
      expect(
        (await client.run('cat /proc/1/environ | tr "\\0" "\\n"', 'root')).stdout.split('\n').sort().join(),
      ).toMatch(/^,HOME=\/root,PATH=/);
    } finally {
      await rm(secret, { recursive: true, force: true });
    }
  });

  it('hides the processes of the host and of other instances', async () => {
    const one = await bench.create();
    const two = await bench.create();
    const running = await two.client.start(
      'exec perl -e \'$0 = "neighbour"; $| = 1; print "ready"; sleep 1000\'',
    );
    await eventually('the program of the neighbour', () => running.stdout() === 'ready');
    const { stdout } = await one.client.run(
      'for f in /proc/[0-9]*/cmdline; do tr "\\0" " " < $f; echo; done',
      'root',
    );
    expect(stdout).not.toMatch(/vitest|neighbour|systemd/);
    expect(stdout.trim().split('\n').length).toBeLessThan(12);
    expect((await one.client.run(`kill -0 ${process.pid}`, 'root')).exitCode).not.toBe(0);
  });

  it("hides the host's sockets, abstract ones too", async () => {
    const name = `host-socket-${process.pid}`;
    const server: Server = createServer().listen({ path: `\0${name}` });
    await once(server, 'listening');
    try {
      const { client } = await bench.create();
      expect((await client.run('cat /proc/net/unix', 'root')).stdout).not.toContain(name);
      const connect = `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); print connect(S, pack_sockaddr_un("\\0${name}")) ? "yes" : "no"'`;
      expect(await client.output(connect)).toBe('no');
    } finally {
      server.close();
    }
  });

  it('gives root inside no power over the host', async () => {
    const { client } = await bench.create();
    await expectNoPower(client);
  });

  it.skipIf(findProgram('crun') === undefined)('does so with crun as well', async () => {
    await withLinuxBench({ storeSizeMiB: 1024, ociRuntime: 'crun' }, async (other) => {
      await expectNoPower((await other.create()).client);
    });
  });

  it('works on plain directories, without disk limits and saying so', async () => {
    await withLinuxBench({ storeSizeMiB: 0 }, async (other) => {
      expect(other.driver.capabilities.diskLimit).toBe(false);
      expect(other.driver.capabilities.reasons.join()).toMatch(/disk limits/);
      const { instance, client } = await other.create();
      await client.output('echo kept > /home/user/file; echo kept > /tmp/file');
      await instance.checkpoint({ checkpointId: 'plain', memory: false, then: 'destroy' });
      const copy = await other.restore('plain', false);
      expect(await copy.client.output('cat /home/user/file /tmp/file')).toBe('kept\nkept');
    });
  });

  async function expectNoPower(client: DaemonClient): Promise<void> {
    const refused = [
      'mount -t tmpfs none /mnt',
      'mount -o remount,rw /dev',
      'umount /usr',
      'chmod 600 /dev/null',
      'chmod 777 /.sbx',
      'touch /.sbx/x',
      'mknod /tmp/disk b 254 0',
      'hostname changed',
      'echo 1 > /proc/sys/kernel/panic',
      'echo b > /proc/sysrq-trigger',
      'echo 1 > /proc/1/oom_score_adj && echo -1000 > /proc/1/oom_score_adj',
      'ip link set eth0 down',
      'ip addr add 10.0.0.9/8 dev eth0',
      'dmesg',
      'date -s 2001-01-01',
      'unshare -m true',
      'unshare -Ur true',
      'chroot /proc/1/root/../../.. ls /work /var/lib/svc',
      'ls /sys/fs/cgroup/*',
      'cat /proc/kcore | head -c 1 | grep .',
    ];
    for (const script of refused) {
      expect((await client.run(script, 'root')).exitCode, script).not.toBe(0);
    }
    expect(((await stat('/dev/null')).mode & 0o777).toString(8)).toBe('666');
    expect(
      await client.output('grep -E "^(CapBnd|NoNewPrivs|Seccomp):" /proc/self/status | tr -d "\\t"'),
    ).toMatch(/NoNewPrivs:0[\s\S]*Seccomp:2/);
  }

  it('has no setuid way from user to root where ids are shared with the host, and says so', async () => {
    await withLinuxBench({ storeSizeMiB: 1024, ids: false }, async (other) => {
      const { client } = await other.create();
      await client.run('cp /bin/dash /tmp/rootsh && chmod 4755 /tmp/rootsh', 'root');
      expect(await client.output('/tmp/rootsh -p -c "id -u"')).toBe('1000');
      expect((await client.run('su -c id; sudo -n id')).stdout).not.toContain('uid=0');
      expect(await client.output('tr -s " " < /proc/self/uid_map')).toBe('0 0 65536');
      expect(other.driver.capabilities.reasons.join()).toMatch(/numbers of the host's/);
    });
  });

  it.each([
    // It never ends by itself; the others end when they meet their limit.
    ['a fork bomb', 'perl -e "while (1) { fork }"'],
    ['a memory bomb', 'perl -e \'my @a; while (1) { push @a, "x" x 10_000_000 }\''],
    ['a full disk', 'cat /dev/zero > /home/user/fill'],
    ['a full /dev/shm', 'cat /dev/zero > /dev/shm/fill'],
  ])('contains %s, while others and the driver continue', async (name, script) => {
    const { instance } = await bench.create({ limits: LIMITS });
    const neighbour = await bench.create();
    let over = false;
    const attack = new DaemonClient(instance)
      .run(script)
      .catch(() => undefined)
      .finally(() => {
        over = true;
      });
    const atItsLimit = async () => over || (await instance.stats()).pids >= LIMITS.pids - 1;
    const deadline = Date.now() + 40_000;
    do {
      expect(await neighbour.client.output('echo alive')).toBe('alive');
      if (Date.now() > deadline) throw new Error(`${name} did not meet its limit within 40 s`);
    } while (!(await atItsLimit()));
    const late = await bench.create();
    expect(await late.client.output('echo alive')).toBe('alive');
    await instance.destroy();
    await attack;
  });

  it('reaches the outside world through the host, and with egress none it does not', async (context) => {
    const world = await outsideWorld();
    if (world === undefined) return context.skip('no second network namespace can be made');
    try {
      const open = await bench.create({ network: { egress: 'internet' } });
      const shut = await bench.create({ network: { egress: 'none' } });
      const reach = `perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(PeerAddr => "${world.address}", PeerPort => ${world.port}, Timeout => 5) or do { print "no"; exit }; print scalar <$s>'`;
      expect(await open.client.output(reach)).toBe('hello from outside');
      expect(await shut.client.output(reach)).toBe('no');
      // Nobody outside gets in.
      expect(world.reaches(await open.client.output("hostname -I | cut -d' ' -f1"), 49983)).toBe(false);
    } finally {
      world.close();
    }
  });
});

interface World {
  address: string;
  port: number;
  reaches(address: string, port: number): boolean;
  close(): void;
}

/** A network namespace that plays the internet: a public address behind a cable of its own to the host. */
async function outsideWorld(): Promise<World | undefined> {
  const keeper: ChildProcess = spawn('unshare', ['-n', 'sh', '-c', 'echo; exec sleep 600'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(keeper.stdout!, 'data');
  const link = `world${process.pid % 100_000}`;
  const net = `--net=/proc/${keeper.pid}/ns/net`;
  const shell = (script: string) =>
    spawnSync('sh', ['-ec', script], { env: ENV, stdio: 'ignore' }).status === 0;
  const made = shell(`ip link add ${link} type veth peer name eth0 netns ${keeper.pid}; ip link set ${link} up
echo 1 > /proc/sys/net/ipv4/conf/${link}/forwarding`);
  const beginning = made
    ? takeAddresses((each) =>
        shell(`ip route add ${each}.0/30 dev ${link}; ip addr add ${each}.1/32 dev ${link}
nsenter ${net} sh -ec 'ip addr add ${each}.2/30 dev eth0; ip link set eth0 up; ip link set lo up; ip route add default via ${each}.1'`),
      )
    : undefined;
  if (beginning === undefined) {
    keeper.kill();
    return undefined;
  }
  const address = `${beginning}.2`;
  const listener = spawn(
    'nsenter',
    [
      net,
      'perl',
      '-MIO::Socket::INET',
      '-e',
      `$| = 1; my $l = IO::Socket::INET->new(LocalAddr => "${address}", Listen => 5) or die; print $l->sockport, "\n"; while (my $c = $l->accept) { print $c "hello from outside\n"; close $c }`,
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const [data] = (await once(listener.stdout, 'data')) as [Buffer];
  return {
    address,
    port: Number(data.toString().trim()),
    reaches(address, port) {
      const probe = `exit(IO::Socket::INET->new(PeerAddr => "${address}", PeerPort => ${port}, Timeout => 2) ? 0 : 1)`;
      return spawnSync('nsenter', [net, 'perl', '-MIO::Socket::INET', '-e', probe]).status === 0;
    },
    close() {
      listener.kill('SIGKILL');
      keeper.kill('SIGKILL');
      spawnSync('ip', ['link', 'del', link], { env: ENV });
    },
  };
}
