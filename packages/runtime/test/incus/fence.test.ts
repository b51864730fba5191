import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '#support/eventually';
import type { Driver } from '../../src/contract/driver.js';
import { createIncusDriver } from '../../src/incus-driver/create-incus-driver.js';
import type { IncusInstance } from '../../src/incus-driver/incus-instance.js';
import { cardName } from '../../src/incus-driver/network/card-name.js';
import { assetPath } from '../../src/shared/assets.js';
import { runProgram } from '../../src/shared/run-program.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { envdProgram } from '../support/envd-program.js';
import {
  INCUS_TEST_MS,
  incusSkipReason,
  leakedByCluster,
  startTestCluster,
  type TestCluster,
} from '../support/incus-host.js';

vi.setConfig({ testTimeout: INCUS_TEST_MS, hookTimeout: INCUS_TEST_MS });
const skip = incusSkipReason();

/** Each is a function of fence-attacks.py. */
const ATTACKS = [
  ...['connections', 'datagrams', 'raw', 'forged-neighbour', 'forged-server', 'forged-public'],
  ...['forged-answer', 'tagged', 'tagged-with-priority', 'fragments', 'source-route', 'broadcast', 'echo'],
  ...['related', 'other-protocol', 'arp-request', 'arp-claim', 'ipv6-datagram', 'ipv6-echo'],
  ...['router-advertisement', 'neighbour-solicitation', 'marks', 'other-mac', 'renamed'],
];

/** Counts, behind the fence, what comes from cards of sandboxes without network access. */
const watch = (server: string) => `
table inet svc_watch {
  counter total {}
  counter marked {}
  chain tally {
    ct state established ct direction reply ip daddr ${server} return
    counter name total
    meta l4proto { tcp, udp } th dport 40404 counter name marked
    meta l4proto { 47, 253 } counter name marked
    icmp type { echo-request, destination-unreachable } counter name marked
    icmpv6 type { echo-request, nd-router-advert, nd-neighbor-solicit } counter name marked
  }
  chain input {
    type filter hook input priority 10; policy accept;
    iifname "svcn*" jump tally
  }
  chain forward {
    type filter hook forward priority 10; policy accept;
    iifname "svcn*" jump tally
  }
}
table arp svc_watch {
  counter total {}
  chain input {
    type filter hook input priority 10; policy accept;
    iifname "svcn*" arp daddr ip != 169.254.0.1 counter name total
  }
}
`;

interface Counted {
  /** Every packet. */
  total: number;
  /** The number of packets that an attack sent. */
  marked: number;
}

describe.skipIf(skip !== undefined)('sandboxes without network access on Incus', () => {
  let cluster: TestCluster;
  let dataDir: string;
  let driver: Driver;
  let server: string;
  const made: IncusInstance[] = [];

  beforeAll(async () => {
    cluster = await startTestCluster(2);
    server = cluster.plan.network.gateway;
    dataDir = await mkdtemp(join(tmpdir(), 'incus-fence-'));
    driver = await createIncusDriver({ dataDir, daemon: envdProgram, address: cluster.address });
  });

  afterAll(async () => {
    await driver?.close();
    await cluster?.stop();
    if (dataDir !== undefined) await rm(dataDir, { recursive: true, force: true });
  });

  const specOf = (egress: 'internet' | 'none') => ({
    layers: [],
    limits: { memoryMiB: 512 },
    network: { egress },
    mounts: [],
    labels: {},
  });
  const create = async (id: string, egress: 'internet' | 'none') => {
    const instance = (await driver.create({ id, spec: specOf(egress) })) as IncusInstance;
    made.push(instance);
    return instance;
  };
  /** Another one on the same member. */
  const neighbourOf = async ({ record }: IncusInstance): Promise<IncusInstance> => {
    for (let count = 0; count < 8; count += 1) {
      const other = made.find((each) => each.record.location === record.location && each.id !== record.id);
      if (other !== undefined) return other;
      await create(`neighbour${made.length}`, 'internet');
    }
    throw new Error('Incus puts no two sandboxes on one member.');
  };
  const root = async (instance: IncusInstance, script: string) => {
    const { exitCode, stdout, stderr } = await new DaemonClient(instance).run(script, 'root');
    if (exitCode !== 0) throw new Error(`It ended with ${exitCode} inside: ${stderr}${stdout}`);
    return stdout.trim();
  };
  const reaches = async (instance: IncusInstance, address: string, port: number) => {
    const script = `timeout 3 bash -c '</dev/tcp/${address}/${port}' 2>&1; echo "ended with $?"`;
    // 124: nothing answered. A refusal is an answer.
    return !(await root(instance, script)).endsWith('ended with 124');
  };
  const onMember = async (name: string, args: readonly string[], input?: string) => {
    const net = `--net=/proc/${processOfMember(cluster, name)}/ns/net`;
    const { exitCode, stdout, stderr } = await runProgram('nsenter', [net, ...args], {
      ...(input === undefined ? {} : { stdin: Readable.from([input]) }),
    });
    if (exitCode !== 0) throw new Error(`${args.join(' ')} ended with ${exitCode}: ${stderr}`);
    return stdout;
  };
  const loadFence = (name: string) =>
    onMember(name, ['nft', '-D', `svc_servers={ ${server} }`, '-f', assetPath('incus/fence.nft')]);
  const takeFence = async (name: string) => {
    await onMember(name, ['nft', 'delete', 'table', 'inet', 'svc']);
    await onMember(name, ['nft', 'delete', 'table', 'arp', 'svc']);
  };
  const counted = async (name: string): Promise<Counted> => {
    const sum: Counted = { total: 0, marked: 0 };
    for (const family of ['inet', 'arp']) {
      const text = await onMember(name, ['nft', '-j', 'list', 'counters', 'table', family, 'svc_watch']);
      for (const { counter } of (JSON.parse(text) as { nftables: { counter?: NftCounter }[] }).nftables) {
        if (counter === undefined) continue;
        sum[counter.name] += counter.packets;
        // All that it counts is an attack.
        if (family === 'arp') sum.marked += counter.packets;
      }
    }
    return sum;
  };

  it('are reached by the server, and reach nobody', async () => {
    const closed = await create('closed', 'none');
    const neighbour = await neighbourOf(closed);
    expect(closed.record.card).toBe('none');
    expect(await new DaemonClient(closed).output('hostname')).toBe('closed');
    const member = cluster.plan.members.find(({ name }) => name === closed.record.location)!;
    for (const address of ['169.254.0.1', member.address, neighbour.record.address, server])
      expect(await reaches(closed, address, 49_983), address).toBe(false);
    expect(await reaches(neighbour, closed.record.address, 49_983)).toBe(false);
    expect(await reaches(neighbour, member.address, 22)).toBe(false);
    const distant = made.find(({ record }) => record.location !== closed.record.location)!;
    expect(await reaches(distant, closed.record.address, 49_983)).toBe(false);
    expect(await reaches(closed, distant.record.address, 49_983)).toBe(false);
  });

  it('become so while they run and while they are frozen, and are let out again', async () => {
    const closed = made.find(({ id }) => id === 'closed')!;
    const changing = await neighbourOf(closed);
    const client = new DaemonClient(changing);
    // A server of another network would be reached by now: where nothing is, the member says so.
    await onMember(changing.record.location, ['ip', 'route', 'add', 'unreachable', '203.0.113.0/24']);
    const isOpen = () => reaches(changing, '203.0.113.1', 80);
    expect(await isOpen()).toBe(true);
    await changing.setNetwork({ egress: 'none' });
    expect(await isOpen()).toBe(false);
    await changing.freeze();
    await changing.setNetwork({ egress: 'internet' });
    await changing.thaw();
    expect(await isOpen()).toBe(true);
    await changing.freeze();
    await changing.setNetwork({ egress: 'none' });
    await changing.thaw();
    expect(await isOpen()).toBe(false);
    expect(await client.output('hostname')).toBe(changing.id);
    await changing.setNetwork({ egress: 'internet' });
  });

  it('are restored so, and are given out of the pool so', async () => {
    const closed = made.find(({ id }) => id === 'closed')!;
    await closed.checkpoint({ checkpointId: 'stored', memory: false, then: 'continue' });
    const restored = (await driver.restore({
      id: 'restored',
      checkpointId: 'stored',
      memory: false,
      spec: specOf('none'),
    })) as IncusInstance;
    expect(restored.record.card).toBe('none');
    expect(await reaches(restored, '203.0.113.1', 80)).toBe(false);
    await restored.destroy();
    driver.setPool([{ spec: specOf('internet'), size: 1 }]);
    await driver.poolReady();
    const pooled = await create('pooled', 'none');
    expect((await driver.poolState()).hits).toBe(1);
    driver.setPool([]);
    expect(pooled.record).toMatchObject({ card: 'none', bare: false });
    expect(await reaches(pooled, '169.254.0.1', 22)).toBe(false);
    expect(await new DaemonClient(pooled).output('hostname')).toBe('pooled');
    await pooled.destroy();
    made.splice(made.indexOf(pooled), 1);
  });

  describe('the traffic of root inside', () => {
    let closed: IncusInstance;
    let neighbour: IncusInstance;
    let location: string;

    beforeAll(async () => {
      closed = made.find(({ id }) => id === 'closed')!;
      neighbour = await neighbourOf(closed);
      location = closed.record.location;
      // Incus has filters of its own against forged addresses; it has to hold without them.
      await onMember(location, ['nft', 'delete', 'table', 'inet', 'incus']);
      for (const name of ['all', cardName(closed.record.address, 'none')])
        await onMember(location, ['sh', '-c', `echo 0 >/proc/sys/net/ipv4/conf/${name}/rp_filter`]);
      await onMember(location, ['nft', '-f', '-'], watch(server));
      const script = await readFile(fixture('fence-attacks.py'));
      await root(closed, `echo ${script.toString('base64')} | base64 -d > /root/fence-attacks.py`);
    });

    const attack = async (name: string): Promise<Counted> => {
      const member = cluster.plan.members.find((each) => each.name === location)!.address;
      const before = await counted(location);
      await root(
        closed,
        `python3 /root/fence-attacks.py ${name} ${member} ${neighbour.record.address} ${server}`,
      );
      const after = await counted(location);
      return { total: after.total - before.total, marked: after.marked - before.marked };
    };

    it.each(ATTACKS)('%s: nothing comes out', async (name) => {
      expect(await attack(name)).toEqual({ total: 0, marked: 0 });
    });

    it('leaves them in touch with the server', async () => {
      expect(await new DaemonClient(closed).output('hostname')).toBe('closed');
      const card = cardName(closed.record.address, 'none');
      const neighbours = await onMember(location, ['ip', '-j', 'neigh', 'show', 'dev', card]);
      const known = (JSON.parse(neighbours) as { dst: string }[]).map(({ dst }) => dst);
      expect(known.filter((address) => !address.includes(':'))).toEqual([closed.record.address]);
    });

    describe('comes out once the fence is removed', () => {
      beforeAll(() => takeFence(location));
      afterAll(() => loadFence(location));

      it.each(ATTACKS)('%s', async (name) => {
        expect((await attack(name)).marked).toBeGreaterThan(0);
      });
    });
  });

  it('are refused where the fence does not hold, and given again once it is loaded', async () => {
    const members = cluster.plan.members.map(({ name }) => name);
    for (const name of members) await takeFence(name);
    const fresh = await mkdtemp(join(tmpdir(), 'incus-fence-'));
    const other = await createIncusDriver({ dataDir: fresh, daemon: envdProgram, address: cluster.address });
    try {
      const refused = await other.create({ id: 'refused', spec: specOf('none') }).catch((error) => error);
      expect(refused).toMatchObject({
        code: 'unsupported',
        detail: expect.stringContaining('reaches the member'),
      });
      const open = await other.create({ id: 'open', spec: specOf('internet') });
      const cut = await open.setNetwork({ egress: 'none' }).catch((error: unknown) => error);
      expect(cut).toMatchObject({ code: 'unsupported' });
      expect((await other.list()).map(({ id }) => id)).toEqual(['open']);
      for (const name of members) await loadFence(name);
      await eventually(
        'the fence to be seen',
        () =>
          open.setNetwork({ egress: 'none' }).then(
            () => true,
            () => false,
          ),
        INCUS_TEST_MS,
      );
    } finally {
      await other.close({ destroyInstances: true });
      await rm(fresh, { recursive: true, force: true });
    }
  });

  it('leave nothing', async () => {
    await driver.deleteCheckpoint('stored');
    await driver.close({ destroyInstances: true });
    const { plan } = cluster;
    for (const { name } of plan.members)
      expect(await onMember(name, ['ip', '-o', 'link'])).not.toContain('svc');
    await cluster.stop();
    await eventually('nothing to be left', () => leakedByCluster(plan).length === 0).catch(() => undefined);
    expect(leakedByCluster(plan)).toEqual([]);
  });
});

interface NftCounter {
  name: keyof Counted;
  packets: number;
}

function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
}

/** One that is in the network of a member, and in none of its sandboxes. */
function processOfMember({ plan }: TestCluster, name: string): string {
  for (const hierarchy of ['', ...readdirSync('/sys/fs/cgroup')]) {
    for (const group of [name, `${name}/incus`]) {
      const file = join('/sys/fs/cgroup', hierarchy, plan.mark, group, 'cgroup.procs');
      const [pid] = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
      if (pid !== undefined) return pid;
    }
  }
  throw new Error(`The member ${name} does not run.`);
}
