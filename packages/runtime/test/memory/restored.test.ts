import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseCgroupMounts } from '../../src/linux-driver/cgroups/cgroup-files.js';
import { NamespaceKeeper } from '../../src/linux-driver/namespace/namespace-keeper.js';
import { pathsOf } from '../../src/linux-driver/state/paths.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { linuxBench } from '../support/linux-bench.js';
import { memorySkipReason } from '../support/linux-host.js';

const skip = memorySkipReason();

const LIMITS = { cpuCount: 1, memoryMiB: 300, pids: 200, diskMiB: 256 };
/** The rights of a program, as the kernel sees them. */
// Ids of the host differ: each instance has its own.
const RESTRICTIONS = `
grep -E '^(Cap|NoNewPrivs|Seccomp|Groups|Uid)' /proc/self/status
cat /proc/1/limits; cut -c 1-11,22- /proc/self/uid_map /proc/self/gid_map
cut -d ' ' -f 2-4 /proc/self/mounts | sed 's/=i\\/[^/]*/=i/g; s/uuid=on,//; s/,[ug]id=[0-9]*//g; s/instances.[^/]*//' | sort
ls -lA --time-style=+ /dev
for name in user pid net mnt uts ipc; do readlink /proc/1/ns/$name | cut -d : -f 1; done`;
/** Files of a cgroup that hold its limits, on v1 and v2. */
const CONTROLS = [
  ...['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes', 'memory.max', 'memory.swap.max'],
  ...['cpu.cfs_period_us', 'cpu.cfs_quota_us', 'cpu.max', 'pids.max', 'devices.list'],
];

/** Devices that one runtime allows and another does not: the console and tun, of which a sandbox has no node. */
const OF_A_RUNTIME = new Set(['c 5:1 rwm', 'c 10:200 rwm']);

describe.skipIf(skip !== undefined).each(['driver' as const, 'runtime' as const])(
  'an instance restored with its memory, CRIU called by the %s',
  (restoreBy) => {
    const bench = linuxBench({ restoreBy });

    it('has the limits and restrictions of one that was started', async () => {
      const { instance, client } = await bench.create({ limits: LIMITS });
      const [source] = cgroupNames();
      await instance.checkpoint({ checkpointId: 'limited', memory: true, then: 'continue' });
      // The kernel removes the one of the trial restore a little later.
      const names = cgroupNames();
      const copy = await bench.driver.restore({
        id: 'copy',
        checkpointId: 'limited',
        memory: true,
        spec: bench.spec({ limits: LIMITS }),
      });
      const [restored] = cgroupNames().filter((name) => !names.includes(name));
      expect(controlsOf(restored!)).toEqual(controlsOf(source!));
      expect(Object.keys(controlsOf(source!)).length).toBeGreaterThanOrEqual(4);
      const there = new DaemonClient(copy);
      for (const user of ['user', 'root'])
        expect((await there.run(RESTRICTIONS, user)).stdout).toBe(
          (await client.run(RESTRICTIONS, user)).stdout,
        );
      expect((await client.run(RESTRICTIONS)).stdout).toMatch(/NoNewPrivs:\t0\nSeccomp:\t2/);
    });

    it('shows nothing behind what hides directories of /proc, to a copy of a copy neither', async () => {
      const { instance } = await bench.create();
      await instance.checkpoint({ checkpointId: 'first', memory: true, then: 'destroy' });
      const copy = await bench.restore('first', true);
      await copy.instance.checkpoint({ checkpointId: 'second', memory: true, then: 'continue' });
      const { client } = await bench.restore('second', true);
      const hidden = '/proc/bus /proc/driver /proc/fs /proc/irq';
      expect(await client.output(`stat -f -c %T ${hidden} | sort -u; find ${hidden} -mindepth 1`)).toBe(
        'tmpfs',
      );
      for (const { client: there } of [copy, { client }]) {
        const { stderr } = await there.run('touch /proc/bus/planted', 'root');
        expect(stderr).toContain('Read-only file system');
      }
    });

    it('holds no image of the checkpoint any more, which stays as it was', async () => {
      const { instance } = await bench.create();
      await instance.checkpoint({ checkpointId: 'kept', memory: true, then: 'destroy' });
      const keeper = NamespaceKeeper.find(pathsOf(bench.dataDir))!;
      const stored = () => {
        const directory = keeper.view(join(pathsOf(bench.dataDir).store, 'c/kept'));
        const images = readdirSync(join(directory, 'img')).sort();
        return {
          images: images.map((name) => [name, readFileSync(join(directory, 'img', name), 'base64')]),
          // Of no use to a copy, and costly to remove from each.
          ofOverlays: ['w', 'uw'].flatMap((name) => readdirSync(join(directory, 'sv', name))),
        };
      };
      const before = stored();
      await Promise.all([bench.restore('kept', true), bench.restore('kept', true)]);
      expect(stored()).toEqual(before);
      expect(before.ofOverlays).toEqual([]);
      expect(before.images.filter(([name]) => name!.startsWith('userns-'))).toHaveLength(1);
      expect(readFileSync(`/proc/${keeper.pid}/mountinfo`, 'utf8')).not.toContain('/img');
    });

    it('cannot use more memory than it may', async () => {
      const { instance } = await bench.create({ limits: LIMITS });
      await instance.checkpoint({ checkpointId: 'hungry', memory: true, then: 'destroy' });
      const copy = await bench.driver.restore({
        id: 'hungry',
        checkpointId: 'hungry',
        memory: true,
        spec: bench.spec({ limits: LIMITS }),
      });
      const eaten = await new DaemonClient(copy).run(`python3 -c 'b"x" * (400 << 20)'`);
      expect(eaten.exitCode).not.toBe(0);
      expect((await copy.stats()).memoryLimitBytes).toBe(LIMITS.memoryMiB * 2 ** 20);
    });

    function hierarchies(): string[] {
      const { v1, v2 } = parseCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
      return [...new Set([...v1.values(), ...(v2 === undefined ? [] : [v2])])];
    }

    function cgroupNames(): string[] {
      const parent = `svc-${pathsOf(bench.dataDir).tag}`;
      const names = hierarchies().flatMap((mount) => {
        try {
          return readdirSync(join(mount, parent), { withFileTypes: true });
        } catch {
          return [];
        }
      });
      return [...new Set(names.filter((entry) => entry.isDirectory()).map(({ name }) => name))];
    }

    function controlsOf(name: string): Record<string, string[]> {
      const found: Record<string, string[]> = {};
      for (const mount of hierarchies())
        for (const file of CONTROLS) {
          const path = join(mount, `svc-${pathsOf(bench.dataDir).tag}`, name, file);
          try {
            const lines = readFileSync(path, 'utf8').trim().split('\n').sort();
            found[file] = lines.filter((line) => !OF_A_RUNTIME.has(line));
          } catch {
            // Another hierarchy has it.
          }
        }
      return found;
    }
  },
);
