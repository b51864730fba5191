import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { HIDDEN_OF_PROC } from '../../src/linux-driver/oci/hidden-paths.js';
import type { DaemonClient } from '../../src/testing/daemon-client.js';
import { linuxBench, withLinuxBench } from '../support/linux-bench.js';
import { linuxSkipReason, memorySkipReason } from '../support/linux-host.js';

const skip = linuxSkipReason();
const noMemory = memorySkipReason();
const HOSTILE_CALLS = readFileSync(
  fileURLToPath(new URL('../fixtures/hostile-calls.py', import.meta.url)),
  'utf8',
);

const each = (names: string, outcome: string) =>
  Object.fromEntries(names.split(/,\s*/).map((name) => [name, outcome]));

/** The result of every call, for root as for any user. */
const EXPECTED: Record<string, string> = {
  ...each(
    'acct, add_key, bpf, fsopen, init_module, finit_module, keyctl, kexec_load, lookup_dcookie, mbind, mount, mount_setattr',
    'EPERM',
  ),
  ...each(
    'move_mount, move_pages, migrate_pages, open_tree, pivot_root, quotactl, quotactl_fd, reboot, set_mempolicy',
    'EPERM',
  ),
  ...each(
    'get_mempolicy, setns, settimeofday, clock_settime, sethostname, swapon, syslog, umount2, vhangup, iopl, kcmp',
    'EPERM',
  ),
  ...each(
    'open_by_handle_at, name_to_handle_at, process_madvise, pidfd_getfd, fanotify_init, userfaultfd, perf_event_open',
    'EPERM',
  ),
  ...each('memfd_secret, io_uring_setup, clone3, process_vm_readv, process_vm_writev, unused', 'ENOSYS'),
  ...each('btrfs subvolume, btrfs subvolume with options, btrfs subvolume copy, btrfs quota', 'ENOSYS'),
  ...each('statmount, listmount, lsm_list_modules, open_tree_attr', 'ENOSYS'),
  ...each(
    'unshare user, unshare mount, unshare net, unshare pid, unshare ipc, unshare uts, unshare cgroup, unshare time',
    'EPERM',
  ),
  ...each('clone user, clone mount, clone net, clone pid, clone ipc, clone uts, clone cgroup', 'EPERM'),
  ...each('unshare files, personality query, personality linux32, personality linux', 'ok'),
  ...each('personality without address randomization', 'ENOSYS'),
  ...each('memfd_create, inotify_init1, pidfd_open, socketpair, ping socket, fchmodat2', 'ok'),
  ...each('socket unix, socket inet, socket inet6, netlink route', 'ok'),
  ...each('socket ax25, socket ipx, socket appletalk, socket x25, socket key, socket packet', 'EAFNOSUPPORT'),
  ...each('socket rds, socket llc, socket can, socket tipc, socket bluetooth, socket phonet', 'EAFNOSUPPORT'),
  ...each(
    'socket ieee802154, socket alg, socket nfc, socket vsock, socket kcm, socket qipcrtr',
    'EAFNOSUPPORT',
  ),
  ...each('socket smc, socket xdp, socket mctp, upper half of the family', 'EAFNOSUPPORT'),
  ...each('netlink sock_diag, netlink xfrm, netlink audit, netlink netfilter', 'EPROTONOSUPPORT'),
  ...each('netlink uevent, netlink generic, netlink rdma, netlink crypto', 'EPROTONOSUPPORT'),
  ...each('raw inet, raw inet6, raw icmp inet, raw icmp inet6', 'EPERM'),
  ...each('sctp inet, sctp inet6', 'ENOSYS'),
  '32-bit call': 'killed',
};

/** Names of the host that must stand in no file that a sandbox can read. */
const LOOKS = `
for f in ${HIDDEN_OF_PROC.join(' ')}; do [ -f "$f" ] && [ "$(head -c 1 "$f" 2>/dev/null | wc -c)" != 0 ] && echo "visible: $f"; done
for d in /proc/acpi /proc/asound /proc/bus /proc/fs /proc/scsi; do [ -n "$(ls -A $d 2>/dev/null)" ] && echo "visible: $d"; done
find /sys -mindepth 1 -maxdepth 3 | grep -vE '^/sys/devices(/system(/(cpu|node))?)?$'
find /sys -writable -type f 2>/dev/null | head -n 3
cat /sys/block/*/loop/backing_file /sys/class/dmi/id/* /sys/fs/btrfs/*/label /sys/kernel/notes /sys/module/*/version 2>/dev/null
true`;

async function callsOf(client: DaemonClient, user: string): Promise<Record<string, string>> {
  const script = `python3 - <<'PROGRAM'\n${HOSTILE_CALLS}\nPROGRAM`;
  const { stdout, stderr } = await client.run(script, user);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Record<string, string>;
}

describe.skipIf(skip !== undefined)("a hostile program and the host's kernel", () => {
  const bench = linuxBench({ storeSizeMiB: 4096 });

  async function expectNoWay(client: DaemonClient): Promise<void> {
    for (const user of ['root', 'user']) {
      const found = await callsOf(client, user);
      const expected = Object.fromEntries(Object.entries(EXPECTED).filter(([name]) => name in found));
      expect(found, user).toEqual(expected);
      expect(Object.keys(found).length).toBeGreaterThan(100);
      expect((await client.run(LOOKS, user)).stdout, user).toBe('');
    }
    const mounts = await client.output('cat /proc/self/mountinfo /proc/self/mounts');
    expect(mounts).not.toContain(bench.dataDir);
    expect(await client.output('cat /proc/1/oom_score_adj')).toBe('800');
    expect(await client.output('nproc; getconf _NPROCESSORS_ONLN')).toMatch(/^\d+\n\d+$/);
  }

  it('finds no call, no socket and no file that reaches past the sandbox', async () => {
    await expectNoWay((await bench.create()).client);
  });

  it.skipIf(noMemory !== undefined)('finds none in a restored sandbox either', async () => {
    const { instance } = await bench.create();
    await instance.checkpoint({ checkpointId: 'hostile', memory: true, then: 'destroy' });
    await expectNoWay((await bench.restore('hostile', true)).client);
  });

  it('finds no way with the slower runtime, which restores and is the fallback of the other', async () => {
    await withLinuxBench({ storeSizeMiB: 1024, ociRuntime: 'runc' }, async (other) => {
      await expectNoWay((await other.create()).client);
    });
  });

  it('cannot look into the daemon as user', async () => {
    const { client } = await bench.create();
    const looks = [
      'timeout 2 strace -p $pid -o /dev/null',
      'head -c 1 /proc/$pid/mem',
      'cat /proc/$pid/environ',
      'ls -l /proc/$pid/fd',
    ];
    for (const look of looks) {
      // A process that the daemon has just forked for a user's program counts as root's until then.
      const each = await client.output(
        `for pid in $(pgrep -u 0 -x envd); do
          said=$(${look} 2>&1)
          [ "$(stat -c %u /proc/$pid 2>/dev/null)" = 0 ] || continue
          echo "$said" | grep -qiE 'not permitted|denied' && echo refused || echo "looked into $pid"
        done`,
      );
      expect(new Set(each.trim().split('\n')), look).toEqual(new Set(['refused']));
    }
  });

  it('cannot have the daemon killed first, or slowed, as user, while the daemon works with that user’s rights', async () => {
    const { client } = await bench.create();
    const before = await client.output('cat /proc/1/oom_score_adj');
    const attack = await client.start(`exec python3 - <<'PROGRAM'
import os, time
done, end = set(), time.monotonic() + 4
def attempt(name, action):
    try: action()
    except OSError: return
    done.add(name)
def write(path, text):
    with open(path, "w") as file: file.write(text)
while time.monotonic() < end:
    try: threads = os.listdir("/proc/1/task")
    except OSError: continue
    for thread in threads:
        attempt("oom", lambda: write("/proc/1/task/%s/oom_score_adj" % thread, "1000"))
        attempt("nice", lambda: os.setpriority(os.PRIO_PROCESS, int(thread), 19))
        attempt("idle", lambda: os.sched_setscheduler(int(thread), os.SCHED_IDLE, os.sched_param(0)))
        attempt("pinned", lambda: os.sched_setaffinity(int(thread), {0}))
print(sorted(done))
PROGRAM`);
    let over = false;
    const result = attack.result.finally(() => {
      over = true;
    });
    // Each call has the daemon look at the user's directory as that user.
    const busy = async () => {
      while (!over) await client.run('cd; exec true');
    };
    await Promise.all([busy(), busy(), busy()]);
    expect((await result).stdout.trim()).toBe('[]');
    expect(await client.output('cat /proc/1/oom_score_adj')).toBe(before);
  });

  it('leaves developers their tools', async () => {
    const { client } = await bench.create();
    await client.output('mkdir -p /tmp/work && cd /tmp/work && git init -q . && echo hi > a && git add a');
    const programs: [what: string, script: string, expected: RegExp][] = [
      [
        'python',
        "python3 -c 'import subprocess, multiprocessing as m; print(sum(m.Pool(2).map(abs, [1, -2])))'",
        /^3$/,
      ],
      ['node', `node -e 'new (require("worker_threads").Worker)("console.log(1+1)", { eval: true })'`, /^2$/],
      [
        'gcc',
        `cd /tmp/work && printf '#include <stdio.h>\\n#include <pthread.h>\\nvoid *f(void *x) { puts("made"); return x; } int main() { pthread_t t; pthread_create(&t, 0, f, 0); return pthread_join(t, 0); }' > a.c && gcc -pthread a.c -o a && ./a`,
        /^made$/,
      ],
      [
        'git',
        'cd /tmp/work && git -c user.name=a -c user.email=a@b commit -qm first && git log --format=%s',
        /^first$/,
      ],
      [
        'strace',
        'strace -f -o /tmp/trace sh -c "/bin/true; echo traced"; grep -c execve /tmp/trace',
        /^traced\n[1-9]/,
      ],
      ['gdb', 'gdb -batch -nx -ex run -ex "print 40+2" /bin/true 2>&1 | grep "^.1 ="', /= 42$/],
      ['ip', 'ip -br addr show eth0 | cut -d " " -f 1', /^eth0/],
      ['xargs', 'seq 20 | xargs -P 4 -n 1 echo | wc -l', /^20$/],
    ];
    for (const [what, script, expected] of programs)
      expect((await client.output(script)).trim(), what).toMatch(expected);
  });
});
