import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DriverError } from '../../src/contract/errors.js';
import { parseCgroupMounts } from '../../src/linux-driver/cgroups/cgroup-files.js';
import { NamespaceKeeper } from '../../src/linux-driver/namespace/namespace-keeper.js';
import { pathsOf } from '../../src/linux-driver/state/paths.js';
import { linuxBench } from '../support/linux-bench.js';
import { linuxSkipReason } from '../support/linux-host.js';
import { takeAddresses } from '../support/public-addresses.js';

const skip = linuxSkipReason();
const CONNECTIONS = 200;
const MAX_MEMORY_MIB = 1_024;
const ENV = { PATH: '/usr/sbin:/sbin:/usr/bin:/bin' };

describe.skipIf(skip !== undefined)('a hostile sandbox and what all share', () => {
  const bench = linuxBench({
    storeSizeMiB: 2_048,
    maxMemoryMiB: MAX_MEMORY_MIB,
    network: { maxConnections: CONNECTIONS },
  });

  const gateway = (command: string) => {
    const keeper = NamespaceKeeper.find(pathsOf(bench.dataDir))!;
    return execFileSync(
      'nsenter',
      [`--target=${keeper.pid}`, '--mount', 'nsenter', '--net=/run/netns/gw', 'sh', '-c', command],
      { env: ENV, encoding: 'utf8' },
    ).trim();
  };
  const parentFile = (controller: string, file: string) => {
    const { v1, v2 } = parseCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
    return Number(
      readFileSync(join(v1.get(controller) ?? v2!, `svc-${pathsOf(bench.dataDir).tag}`, file), 'utf8'),
    );
  };

  it('does not fill the table of connections that the host has for everybody', async (context) => {
    // Nobody answers there, and nothing leaves this machine.
    const route = (what: 'add' | 'del', beginning: string) =>
      spawnSync('ip', ['route', what, 'blackhole', `${beginning}.0/24`], { env: ENV }).status === 0;
    const beginning = takeAddresses((each) => route('add', each));
    if (beginning === undefined) return context.skip('no route can be made');
    onTestFinished(() => void route('del', beginning));
    const { client } = await bench.create();
    const neighbour = await bench.create();
    const flood = (ports: number) => `python3 -c '
import socket
for port in range(1, ${ports}):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try: s.sendto(b"x", ("${beginning}.9", port))
    except OSError: pass
print("sent")'`;
    const count = () => Number(gateway('cat /proc/sys/net/netfilter/nf_conntrack_count'));
    const before = count();
    expect(await client.output(flood(5_000))).toBe('sent');
    const after = count();
    expect(after - before).toBeGreaterThan(CONNECTIONS / 2);
    expect(after - before).toBeLessThan(CONNECTIONS + 50);
    // The others still have all of theirs.
    expect(await neighbour.client.output(flood(100))).toBe('sent');
    expect(count() - after).toBeGreaterThan(90);
  });

  it('does not use up the memory and the process numbers of the host', async () => {
    await bench.create();
    const unit = 4096;
    const { v1 } = parseCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
    const memory = parentFile('memory', v1.has('memory') ? 'memory.limit_in_bytes' : 'memory.max');
    expect(Math.abs(memory - MAX_MEMORY_MIB * 2 ** 20)).toBeLessThanOrEqual(unit);
    const pidMax = Number(readFileSync('/proc/sys/kernel/pid_max', 'utf8'));
    expect(parentFile('pids', 'pids.max')).toBeLessThanOrEqual(pidMax * 0.75);
    expect(pidMax).toBeGreaterThanOrEqual(16 * 2048);
  });

  it('is not joined by another when memory is used up, and ends alone', async () => {
    const hostile = await bench.create({ limits: { memoryMiB: 2_048 } });
    await hostile.client.start(
      `exec python3 -c 'import time; x = b"x" * (850 << 20); open("/tmp/full", "w").write("1"); time.sleep(1000)'`,
    );
    await hostile.client.output('while ! [ -s /tmp/full ]; do sleep 0.05; done');
    const error = await bench.create({ limits: { memoryMiB: 1_024 } }).catch((reason: unknown) => reason);
    expect(DriverError.is(error) && error.code).toBe('no_capacity');
    expect((error as Error).message).toBe('The memory for sandboxes is used up');
    await hostile.client.run('exec python3 -c \'x = b"x" * (700 << 20)\'').catch(() => undefined);
    await hostile.instance.destroy();
    const next = await bench.create({ limits: { memoryMiB: 1_024 } });
    expect(await next.client.output('echo alive')).toBe('alive');
  });
});
