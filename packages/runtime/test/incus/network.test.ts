import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DriverError } from '../../src/contract/errors.js';
import { IncusError } from '../../src/incus/incus-error.js';
import { incusCapabilities } from '../../src/incus-driver/capabilities.js';
import { judgeFences } from '../../src/incus-driver/check-fences.js';
import { IncusInstance, type IncusOwner, readRecord } from '../../src/incus-driver/incus-instance.js';
import { instanceConfig, instanceDevices } from '../../src/incus-driver/instance-config.js';
import { judgeIncus } from '../../src/incus-driver/judge-incus.js';
import { keys } from '../../src/incus-driver/keys.js';
import { cardModeOf, cardName, LONGEST_CARD_NAME } from '../../src/incus-driver/network/card-name.js';
import { FenceProofs } from '../../src/incus-driver/network/fence-proofs.js';
import { FenceWatch } from '../../src/incus-driver/network/fence-watch.js';
import { Fences } from '../../src/incus-driver/network/fences.js';
import { FENCE_HELP, judgeFence } from '../../src/incus-driver/network/judge-fence.js';
import { setUpCardCommand } from '../../src/incus-driver/network/plug-card.js';
import {
  attemptsOfClosed,
  attemptsOfOpen,
  type ReachAttempt,
  reachCommand,
  readAnswered,
} from '../../src/incus-driver/network/reach-attempts.js';
import { requireNetwork } from '../../src/incus-driver/network/require-network.js';
import { type FenceProbe, tryFence } from '../../src/incus-driver/network/try-fence.js';
import type { WireMember } from '../../src/incus-driver/wire.js';
import { assetPath } from '../../src/shared/assets.js';
import { SCRIPT_ENVIRONMENT } from '../../src/shared/script-environment.js';

const failure = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('the name of a card', () => {
  it.each([
    ['10.77.16.1', 'internet', 'svci0a4d1001'],
    ['10.77.16.1', 'none', 'svcn0a4d1001'],
    ['255.255.255.254', 'none', 'svcnfffffffe'],
    ['1.2.3.4', 'internet', 'svci01020304'],
  ] as const)('of %s with %s is %s', (address, mode, name) => {
    expect(cardName(address, mode)).toBe(name);
    expect(name.length).toBeLessThanOrEqual(LONGEST_CARD_NAME);
    expect(cardModeOf(name)).toBe(mode);
  });

  it('is undefined for one that is none of ours', () => {
    for (const name of [undefined, '', 'eth0', 'veth0a1b2c3d', 'svc0a4d1001'])
      expect(cardModeOf(name)).toBeUndefined();
  });

  it('is what the fence goes by, and is in the device that Incus gets', async () => {
    const options = { pool: 'p', parent: 'eth0', address: '10.77.16.1', limits: {}, imageBytes: 0 } as const;
    expect(instanceDevices({ ...options, mode: 'none' }).eth0).toEqual({
      type: 'nic',
      nictype: 'routed',
      name: 'eth0',
      parent: 'eth0',
      'ipv4.address': '10.77.16.1',
      host_name: 'svcn0a4d1001',
    });
    const fence = await readFile(assetPath('incus/fence.nft'), 'utf8');
    expect(fence).toContain('iifname "svcn*" jump closed');
    expect(fence).toContain('iifname "svci*" jump open');
  });
});

describe('the network that is asked for', () => {
  it.each([
    ['internet', false, 'internet'],
    ['internet', true, 'internet'],
    ['none', true, 'none'],
  ] as const)('%s, with a fence (%s), is a card for %s', (egress, fenced, mode) => {
    expect(requireNetwork({ egress }, { fenced })).toBe(mode);
  });

  it.each([
    ['none', false],
    ['governed', false],
    ['governed', true],
  ] as const)('%s, with a fence (%s), is refused', (egress, fenced) => {
    expect(() => requireNetwork({ egress }, { fenced })).toThrow(DriverError);
  });

  it('is claimed where the operator says that there is a fence', () => {
    const claimed = incusCapabilities({ diskLimit: true, fenced: true, mountProblem: undefined });
    const without = incusCapabilities({ diskLimit: true, fenced: false, mountProblem: undefined });
    expect([claimed.networkIsolation, claimed.egressPolicy]).toEqual([true, false]);
    expect(without.networkIsolation).toBe(false);
    expect(without.reasons.length).toBe(claimed.reasons.length + 1);
    expect(without.reasons.join()).toContain('SVC_INCUS_FENCE');
  });
});

describe('what a probe tries', () => {
  const three: ReachAttempt[] = [
    { what: 'a', protocol: 'tcp', address: '127.0.0.1', port: 1 },
    { what: 'b', protocol: 'udp', address: '127.0.0.1', port: 1 },
    { what: 'c', protocol: 'tcp', address: '127.0.0.1', port: 1 },
  ];

  it.each([
    [64, []],
    [65, ['a']],
    [66, ['b']],
    [71, ['a', 'b', 'c']],
    [0, undefined],
    [1, undefined],
    [63, undefined],
    [72, undefined],
    [137, undefined],
    [-1, undefined],
    [Number.NaN, undefined],
  ])('is read from the exit code %d', (code, reached) => {
    expect(readAnswered(three, code)).toEqual(reached);
  });

  it('fits into an exit code', () => {
    expect(() => reachCommand(attemptsOfClosed('10.0.0.1'))).not.toThrow();
    expect(() => reachCommand(attemptsOfOpen('10.0.0.1'))).not.toThrow();
    expect(() => reachCommand([...three, ...three, ...three])).toThrow(RangeError);
  });

  it('counts as reached where it is answered, by a refusal too', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    const attempts: ReachAttempt[] = [
      { what: 'a listener', protocol: 'tcp', address: '127.0.0.1', port },
      { what: 'no listener', protocol: 'tcp', address: '127.0.0.1', port: 1 },
      { what: 'no listener by UDP', protocol: 'udp', address: '127.0.0.1', port: 1 },
    ];
    // Without the loader of the directory inside.
    const args = reachCommand(attempts).slice(4);
    const { status } = spawnSync(process.execPath, args, { env: SCRIPT_ENVIRONMENT });
    server.close();
    expect(readAnswered(attempts, status ?? -1)).toEqual(attempts.map(({ what }) => what));
  });

  it('proves nothing where it could not be tried', () => {
    const attempts: ReachAttempt[] = [
      { what: 'no such address', protocol: 'tcp', address: '0.0.0.256', port: 1 },
    ];
    const { status } = spawnSync(process.execPath, reachCommand(attempts).slice(4), {
      env: SCRIPT_ENVIRONMENT,
    });
    expect(readAnswered(attempts, status ?? -1)).toBeUndefined();
  });
});

describe('the fence of a member', () => {
  it.each([
    [{ closed: [], open: [] }, undefined],
    [{ closed: undefined, open: [] }, 'could not be run'],
    [{ closed: [], open: undefined }, 'could not be run'],
    [{ closed: ['the member by TCP'], open: [] }, 'reaches the member by TCP'],
    [{ closed: [], open: ['one without'] }, 'with network access reaches one without'],
  ])('is judged by what was reached: %j', (trial, problem) => {
    if (problem === undefined) expect(judgeFence(trial)).toBeUndefined();
    else expect(judgeFence(trial)).toContain(problem);
  });

  const probe = (code: number, ended: string[], address: string): FenceProbe => ({
    address,
    run: async () => code,
    destroy: async () => void ended.push(address),
  });

  it.each([
    ['holds', 64, 64, undefined],
    ['lets something through', 65, 64, 'reaches the member by TCP'],
    ['lets others in', 64, 65, 'reaches one without'],
    ['was not tried to the end', 137, 64, 'could not be run'],
  ])('that %s is reported, and the probes are removed', async (_, closed, open, problem) => {
    const ended: string[] = [];
    const found = await tryFence(async (mode) =>
      mode === 'none' ? probe(closed, ended, 'closed') : probe(open, ended, 'open'),
    );
    expect(ended.sort()).toEqual(['closed', 'open']);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  });

  it('that keeps the server out too is reported; other failures prove nothing, and no probe is left', async () => {
    const ended: string[] = [];
    const refusing = (code: 'create_failed' | 'no_capacity') => async (mode: string) => {
      if (mode === 'none') throw new DriverError(code, 'no');
      return probe(64, ended, 'open');
    };
    expect(await tryFence(refusing('create_failed'))).toContain('svc_servers');
    await expect(tryFence(refusing('no_capacity'))).rejects.toMatchObject({ code: 'no_capacity' });
    expect(ended).toEqual(['open', 'open']);
  });

  it('is reported for each member, with the remedy', () => {
    const findings = judgeFences([
      { member: 'm1', problem: undefined },
      { member: 'm2', problem: 'it leaks' },
    ]);
    expect(findings.map(({ id, ok }) => [id, ok])).toEqual([
      ['fence-m1', true],
      ['fence-m2', false],
    ]);
    expect(findings[1]).toMatchObject({ message: expect.stringContaining('it leaks'), fix: FENCE_HELP });
  });

  it('that nobody speaks of is missed by the doctor', () => {
    const facts = { address: 'a', trusted: true };
    const fence = (fenced?: boolean) => judgeIncus({ ...facts, fenced }).find(({ id }) => id === 'fence');
    expect(fence(true)).toMatchObject({ ok: true });
    expect(fence()).toMatchObject({ ok: false, neededFor: 'networkIsolation', fix: FENCE_HELP });
  });

  describe('is tried on all members', () => {
    const fencesOf = (members: string[], made: string[]) =>
      new Fences({
        cluster: {
          executeForCode: async () => 64,
          members: async () =>
            members.map((text) => {
              const [name = '', status = 'Online'] = text.split(' ');
              return { server_name: name, status } as WireMember;
            }),
        },
        make: async ({ network }, target) => {
          made.push(`${network.egress} on ${target}`);
          return {
            record: { address: '10.77.16.1', name: 'x' },
            destroy: async () => undefined,
          } as IncusInstance;
        },
        relying: () => new Map(),
        log: () => undefined,
      });

    it('that are there, by two probes on each', async () => {
      const made: string[] = [];
      const tried = await fencesOf(['m1', 'm2 Offline', 'm3'], made).tryAll();
      expect(tried).toEqual([
        { member: 'm1', problem: undefined },
        { member: 'm3', problem: undefined },
      ]);
      expect(made).toEqual(['none on m1', 'internet on m1', 'none on m3', 'internet on m3']);
    });

    it('and on a server of its own', async () => {
      const made: string[] = [];
      expect(await fencesOf([], made).tryAll()).toEqual([{ member: 'none', problem: undefined }]);
      expect(made).toEqual(['none on none', 'internet on none']);
    });
  });

  describe('is remembered', () => {
    const proofsOf = (outcomes: (string | undefined | Error)[]) => {
      const tried: string[] = [];
      const clock = { nowMs: 0 };
      const proofs = new FenceProofs({
        prove: async (member) => {
          tried.push(member);
          const outcome = outcomes.shift();
          if (outcome instanceof Error) throw outcome;
          return outcome;
        },
        log: () => undefined,
        now: () => clock.nowMs,
      });
      return { proofs, tried, clock };
    };

    it('for a while, for each member alone, by one trial at a time', async () => {
      const { proofs, tried, clock } = proofsOf([]);
      await Promise.all([proofs.require('m1'), proofs.require('m1'), proofs.require('m2')]);
      await proofs.require('m1');
      expect(tried).toEqual(['m1', 'm2']);
      clock.nowMs = 24 * 3_600_000;
      await proofs.require('m1');
      expect(tried).toEqual(['m1', 'm2', 'm1']);
    });

    it('as missing only for moments, with what is wrong for the operator', async () => {
      const { proofs, tried, clock } = proofsOf(['it leaks', undefined]);
      const error = await failure(proofs.require('m1'));
      expect(error).toMatchObject({ code: 'unsupported', detail: expect.stringContaining('it leaks') });
      expect(String((error as Error).message)).not.toContain('m1');
      expect(await failure(proofs.require('m1'))).toBeInstanceOf(DriverError);
      expect(tried).toEqual(['m1']);
      clock.nowMs = 60_000;
      await proofs.require('m1');
      expect(tried).toEqual(['m1', 'm1']);
    });

    it('not while another trial shows that it is removed', async () => {
      const { proofs, tried } = proofsOf([undefined, 'it leaks', undefined]);
      await proofs.require('m1');
      expect(await proofs.proveAgain('m1')).toBe('it leaks');
      expect(await failure(proofs.require('m1'))).toMatchObject({ code: 'unsupported' });
      expect(proofs.problemOf('m1')).toBe('it leaks');
      expect(await proofs.proveAgain('m1')).toBeUndefined();
      await proofs.require('m1');
      expect([proofs.problemOf('m1'), tried]).toEqual([undefined, ['m1', 'm1', 'm1']]);
    });

    it('as missing for sandboxes that resume, until a trial shows that it works', async () => {
      const { proofs, tried, clock } = proofsOf(['it leaks', undefined]);
      await proofs.requireNotMissing('m1');
      expect(tried).toEqual([]);
      await failure(proofs.require('m1'));
      expect(await failure(proofs.requireNotMissing('m1'))).toMatchObject({ code: 'unsupported' });
      clock.nowMs = 60_000;
      await proofs.requireNotMissing('m1');
      clock.nowMs = 24 * 3_600_000;
      await proofs.requireNotMissing('m1');
      expect(tried).toEqual(['m1', 'm1']);
    });

    it('not where it could not be tried', async () => {
      const { proofs, tried } = proofsOf([new DriverError('no_capacity', 'no room'), undefined]);
      expect(await failure(proofs.require('m1'))).toMatchObject({ code: 'no_capacity' });
      await proofs.require('m1');
      expect(tried).toEqual(['m1', 'm1']);
    });
  });
});

describe('the watch of fences', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const watchOf = (relying: Map<string, number>, outcomes: Record<string, string | Error | undefined>) => {
    const tried: string[] = [];
    const logged: string[] = [];
    const watch = new FenceWatch({
      relying: () => relying,
      prove: async (member) => {
        tried.push(member);
        const outcome = outcomes[member];
        if (outcome instanceof Error) throw outcome;
        return outcome;
      },
      log: (level, _message, fields) =>
        logged.push(`${level} ${fields.member} ${fields.sandboxes ?? ''}`.trim()),
      random: () => 1,
    });
    return { watch, tried, logged };
  };

  it('tries those that sandboxes rely on, and says which do not hold', async () => {
    const relying = new Map([
      ['m1', 2],
      ['m2', 1],
      ['m3', 1],
    ]);
    const outcomes = { m2: 'it leaks', m3: new Error('no room') };
    const { watch, tried, logged } = watchOf(relying, outcomes);
    await vi.advanceTimersByTimeAsync(750_000);
    expect(tried).toEqual(['m1', 'm2', 'm3']);
    expect(logged).toEqual(['error m2 1', 'warn m3']);
    relying.clear();
    await vi.advanceTimersByTimeAsync(7_500_000);
    expect(tried).toHaveLength(3);
    relying.set('m1', 1);
    await vi.advanceTimersByTimeAsync(750_000);
    expect(tried).toHaveLength(4);
    await watch.close();
  });

  it('ends with the server', async () => {
    const { watch, tried } = watchOf(new Map([['m1', 1]]), {});
    await watch.close();
    await vi.advanceTimersByTimeAsync(7_500_000);
    expect([tried, vi.getTimerCount()]).toEqual([[], 0]);
  });
});

describe('the card of an instance', () => {
  const wire = (hostName: string | undefined, card = 'ready') => ({
    name: 's10-77-16-1',
    status: 'Running',
    location: 'm1',
    config: { [keys.id]: 'box', [keys.state]: 'live', [keys.card]: card },
    devices: {
      eth0: {
        'ipv4.address': '10.77.16.1',
        ...(hostName === undefined ? {} : { host_name: hostName }),
      } as Record<string, string>,
    },
  });

  /** An instance over an Incus that notes what is asked of it. */
  const instanceOf = (options: {
    hostName?: string;
    card?: string;
    frozen?: boolean;
    fails?: string[];
    setsUpCards?: boolean;
    fenced?: boolean;
  }) => {
    const { hostName, card, frozen = false, fails = [], setsUpCards = true, fenced = true } = options;
    const calls: string[] = [];
    const call = async (name: string) => {
      calls.push(name);
      if (fails.includes(name)) throw new IncusError(500, `${name} fails`);
    };
    const owner: Partial<IncusOwner> = {
      fenced,
      setsUpCards,
      requireFence: async (member) => {
        calls.push(`fence ${member}`);
        if (fails.includes('fence')) throw new DriverError('unsupported', 'it does not hold');
      },
      requireFenceNotMissing: async () => {
        if (fails.includes('fence')) throw new DriverError('unsupported', 'it does not hold');
      },
      plugCard: (_, mode) => call(`plug ${mode}`),
      setUpCard: () => call('set up'),
      setFrozen: (_, to) => call(to ? 'freeze' : 'thaw'),
      look: async () => undefined,
      serialize: (_, task) => task(),
    };
    const instance = new IncusInstance(owner as IncusOwner, readRecord(wire(hostName, card))!, frozen);
    return { instance, calls, fails };
  };

  const none = { egress: 'none' } as const;
  const internet = { egress: 'internet' } as const;
  const open = 'svci0a4d1001';
  const closed = 'svcn0a4d1001';

  it('is read from its name', () => {
    expect(readRecord(wire(open))).toMatchObject({ card: 'internet', bare: false });
    expect(readRecord(wire(closed, 'bare'))).toMatchObject({ card: 'none', bare: true });
    expect(readRecord(wire(undefined))?.card).toBeUndefined();
  });

  it('is said to be set up from the start, regardless of its source', () => {
    const spec = { limits: {}, labels: {} };
    const input = { owner: 'me', unique: 'u', state: 'live', id: 'box', layers: [], createdAtMs: 1 } as const;
    expect(instanceConfig({ ...input, spec, command: [] })[keys.card]).toBe('ready');
  });

  it('changes while it runs, once the fence is seen to hold, and back without that', async () => {
    const { instance, calls } = instanceOf({ hostName: open });
    await instance.setNetwork(none);
    await instance.setNetwork(none);
    await instance.setNetwork(internet);
    expect(calls).toEqual(['fence m1', 'plug none', 'set up', 'plug internet', 'set up']);
    expect(instance.record).toMatchObject({ card: 'internet', bare: false });
  });

  it('changes while it is frozen, and is set up when it resumes', async () => {
    const { instance, calls } = instanceOf({ hostName: open, frozen: true });
    await instance.setNetwork(none);
    expect(calls).toEqual(['fence m1', 'plug none']);
    await instance.thaw();
    expect(calls.slice(2)).toEqual(['thaw', 'set up']);
  });

  it('is set up by the server that thaws it after a restart', async () => {
    const { instance, calls } = instanceOf({ hostName: closed, card: 'bare', frozen: true });
    await instance.thaw();
    expect(calls).toEqual(['thaw', 'set up']);
  });

  it('stays frozen without network access where the fence is known to be removed, and only then', async () => {
    const leaking = instanceOf({ hostName: closed, frozen: true, fails: ['fence'] });
    expect(await failure(leaking.instance.thaw())).toMatchObject({ code: 'unsupported' });
    expect([leaking.calls, leaking.instance.frozen]).toEqual([[], true]);
    leaking.fails.length = 0;
    await leaking.instance.thaw();
    expect(leaking.calls).toEqual(['thaw']);
    const outside = instanceOf({ hostName: open, frozen: true, fails: ['fence'] });
    await outside.instance.thaw();
    const running = instanceOf({ hostName: closed, fails: ['fence'] });
    await running.instance.thaw();
    expect([outside.calls, running.calls]).toEqual([['thaw'], []]);
  });

  it('stays where the fence does not hold, where there is none, and where nothing could set up another', async () => {
    const leaking = instanceOf({ hostName: open, fails: ['fence'] });
    expect(await failure(leaking.instance.setNetwork(none))).toMatchObject({ code: 'unsupported' });
    expect(leaking.calls).toEqual(['fence m1']);
    const unfenced = instanceOf({ hostName: open, fenced: false });
    expect(await failure(unfenced.instance.setNetwork(none))).toMatchObject({ code: 'unsupported' });
    const bare = instanceOf({ hostName: open, setsUpCards: false });
    expect(await failure(bare.instance.setNetwork(none))).toMatchObject({ code: 'unsupported' });
    expect(bare.calls).toEqual(['fence m1']);
    await bare.instance.setNetwork(internet);
  });

  it('that could not be changed is changed the next time, in any mode', async () => {
    const { instance, calls, fails } = instanceOf({ hostName: open, fails: ['plug none'] });
    expect(await failure(instance.setNetwork(none))).toMatchObject({ code: 'unreachable' });
    fails.length = 0;
    await instance.setNetwork(internet);
    expect(calls).toEqual(['fence m1', 'plug none', 'plug internet', 'set up']);
  });

  it('that could not be set up is set up the next time', async () => {
    const { instance, calls, fails } = instanceOf({ hostName: open, fails: ['set up'] });
    expect(await failure(instance.setNetwork(none))).toMatchObject({ code: 'unreachable' });
    expect(instance.record).toMatchObject({ card: 'none', bare: true });
    fails.length = 0;
    await instance.setNetwork(none);
    expect(calls).toEqual(['fence m1', 'plug none', 'set up', 'set up']);
  });

  it('of an earlier version is changed like one with internet access', async () => {
    const { instance, calls } = instanceOf({});
    await instance.setNetwork(internet);
    expect(calls).toEqual([]);
    await instance.setNetwork(none);
    expect(calls).toEqual(['fence m1', 'plug none', 'set up']);
  });

  it('is set up with its address and its way out', () => {
    const [lines] = setUpCardCommand('10.77.16.1').filter((word) => word.includes('address replace'));
    expect(lines?.split('\n')).toEqual([
      'address replace 10.77.16.1/32 dev eth0',
      'link set eth0 up',
      'route replace 169.254.0.1 dev eth0 scope link',
      'route replace default via 169.254.0.1 dev eth0',
      '',
    ]);
  });
});
