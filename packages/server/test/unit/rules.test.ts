import { egressMode } from '@svc/network-policy';
import { describe, expect, it } from 'vitest';
import { hashApiKey, maskApiKey } from '../../src/api/auth/api-key.js';
import { takeToken } from '../../src/api/limits/rate-limit.js';
import { parseSandboxId } from '../../src/api/wire/ids.js';
import { egressOf, policyOf, policyProblem } from '../../src/network/egress/policy-of.js';
import { parseMetadataFilter } from '../../src/sandboxes/records/list.js';
import { parseTemplateReference } from '../../src/sandboxes/records/template-reference.js';
import { decideRecovery } from '../../src/sandboxes/recovery/decide.js';
import { checkNetwork } from '../../src/sandboxes/start/network-settings.js';
import { mountProblem } from '../../src/sandboxes/start/resolve-mounts.js';
import { type Action, decide, mayFollow, viewOf } from '../../src/sandboxes/state/state.js';
import { sampleOf } from '../../src/sandboxes/telemetry/metrics.js';
import type { NetworkConfig } from '../../src/storage/json-shapes.js';
import { createKeyRing } from '../../src/storage/keys/key-ring.js';
import type { SandboxRowState } from '../../src/storage/schema.js';

const STATES: SandboxRowState[] = [
  'creating',
  'running',
  'pausing',
  'snapshotting',
  'killing',
  'paused',
  'resuming',
];

describe('the state table', () => {
  it.each<[Action, Partial<Record<SandboxRowState, string>>]>([
    [
      'pause',
      {
        running: 'proceed',
        pausing: 'join',
        paused: 'conflict',
        snapshotting: 'conflict',
        killing: 'not-found',
      },
    ],
    [
      'resume',
      { running: 'conflict', pausing: 'wait', paused: 'proceed', resuming: 'join', killing: 'not-found' },
    ],
    [
      'connect',
      { running: 'extend', pausing: 'wait', snapshotting: 'wait', paused: 'proceed', killing: 'conflict' },
    ],
    ['kill', { running: 'proceed', paused: 'proceed', killing: 'join', snapshotting: 'wait' }],
    ['update', { running: 'proceed', paused: 'not-found', pausing: 'conflict', killing: 'not-found' }],
    ['fork', { running: 'proceed', paused: 'conflict', snapshotting: 'conflict', killing: 'not-found' }],
    ['snapshot', { running: 'proceed', paused: 'not-found', pausing: 'conflict' }],
  ])('decides %s', (action, expected) => {
    for (const [state, decision] of Object.entries(expected))
      expect([state, decide(state as SandboxRowState, action)]).toEqual([state, decision]);
  });
  it('never lets a killed sandbox come back, and shows transitions as the state around them', () => {
    for (const state of STATES) expect(mayFollow('killing', state)).toBe(false);
    expect(STATES.map(viewOf)).toEqual([
      'hidden',
      'running',
      'paused',
      'running',
      'hidden',
      'paused',
      'paused',
    ]);
  });
});

describe('recovery', () => {
  it.each<[SandboxRowState, boolean, boolean, string]>([
    ['creating', true, false, 'forget'],
    ['running', true, false, 'run'],
    ['running', false, false, 'orphaned'],
    ['snapshotting', true, false, 'run'],
    ['pausing', true, true, 'run'],
    ['pausing', false, true, 'keep-stored'],
    ['pausing', false, false, 'orphaned'],
    ['paused', true, false, 'keep-frozen'],
    ['paused', false, true, 'keep-stored'],
    ['resuming', true, true, 'keep-stored'],
    ['killing', true, true, 'finish-kill'],
  ])('of %s (instance %s, checkpoint %s) decides %s', (state, instance, checkpoint, decision) => {
    expect(decideRecovery({ state, instance, checkpoint })).toBe(decision);
  });
});

describe('the rate limit', () => {
  it('lets a burst through, refuses the next, and fills up again', () => {
    const limit = { rate: 5, burst: 3 };
    let arrival: number | undefined;
    const take = (now: number) => {
      const taken = takeToken(limit, arrival, now);
      arrival = taken.arrivalMs;
      return taken.verdict;
    };
    expect([take(0), take(0), take(0)].map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 2],
      [true, 1],
      [true, 0],
    ]);
    expect(take(0)).toMatchObject({
      allowed: false,
      remaining: 0,
      limit: 3,
      resetSeconds: 1,
      retryAfterSeconds: 1,
    });
    expect(take(200)).toMatchObject({ allowed: true, remaining: 0 });
    expect(take(10_000)).toMatchObject({ allowed: true, remaining: 2 });
  });
});

describe('identifiers and names', () => {
  it('take the older form of a sandbox id and nothing else', () => {
    expect(parseSandboxId('iabc-svc00000')).toBe('iabc');
    for (const bad of ['', 'a-b-c', 'A', 'a/b', '-x', 'ä'])
      expect(() => parseSandboxId(bad)).toThrow('Invalid sandbox ID');
  });
  it('parse template references', () => {
    expect(parseTemplateReference(' Team/My-App:V1.0 ')).toEqual({
      namespace: 'team',
      alias: 'my-app',
      tag: 'v1.0',
    });
    expect(parseTemplateReference('base:default')).toEqual({ alias: 'base' });
    for (const bad of [
      '',
      'a b',
      'a/b/c',
      'a:',
      'a:b:c',
      '/a',
      `a:${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}`,
    ])
      expect(() => parseTemplateReference(bad)).toThrow();
  });
  it('hash keys over their decoded bytes', () => {
    const key = `svc_${'ab'.repeat(20)}`;
    expect(hashApiKey(key.replace('abab', 'ABAB'))).toBe(hashApiKey(key));
    for (const bad of ['', 'svc_', 'svc_abc', 'svc_zz', 'key_abab']) expect(hashApiKey(bad)).toBeUndefined();
    expect(maskApiKey(key)).toEqual({
      prefix: 'svc_',
      valueLength: 40,
      maskedValuePrefix: 'ab',
      maskedValueSuffix: 'abab',
    });
  });
});

describe('the metadata filter', () => {
  it('decodes twice, and lets the last of a repeated key win', () => {
    expect([...parseMetadataFilter('a%253Db=1%252B1&a=x+y&a=z')]).toEqual([
      ['a=b', '1+1'],
      ['a', 'z'],
    ]);
    for (const bad of ['', 'a', 'a=b=c', 'a=%zz', 'a=b&', 'a=%25zz'])
      expect(() => parseMetadataFilter(bad)).toThrow(/^Error parsing metadata/);
  });
});

describe('encrypted texts', () => {
  it('open for their purpose only, and detect changes', () => {
    const ring = createKeyRing(Buffer.alloc(32, 1));
    const sealed = ring.encrypt('a', 'hello');
    expect(ring.decrypt('a', sealed)).toBe('hello');
    expect(sealed).not.toContain('hello');
    expect(() => ring.decrypt('b', sealed)).toThrow();
    expect(() => ring.decrypt('a', `${sealed.slice(0, -2)}xx`)).toThrow();
    expect(() => createKeyRing(Buffer.alloc(32, 2)).decrypt('a', sealed)).toThrow();
  });
});

describe('network settings', () => {
  const none = { networkIsolation: true } as never;
  it('reduce to what the driver can do, or are refused by name', () => {
    const mode = (network: NetworkConfig, allowInternetAccess: boolean | null = null, capabilities = none) =>
      egressOf({ network, allowInternetAccess }, capabilities);
    const full = { networkIsolation: true, egressPolicy: true } as never;
    expect(egressOf({ allowInternetAccess: null }, none)).toBe('internet');
    expect(mode({ allowOut: ['1.1.1.1'] })).toBe('internet');
    expect(mode({}, false)).toBe('none');
    expect(mode({ denyOut: ['0.0.0.0/0'] })).toBe('none');
    const refused: [string, NetworkConfig][] = [
      ['denyOut', { denyOut: ['8.8.8.8'] }],
      ['allowOut', { denyOut: ['0.0.0.0/0'], allowOut: ['a.test'] }],
      ['rules', { rules: { 'a.test': [{ transform: { headers: { a: 'b' } } }] } }],
      ['egressProxy', { egressProxy: { address: 'proxy.test:1080' } }],
    ];
    for (const [name, network] of refused) {
      expect(() => mode(network)).toThrow(`network.${name}`);
      expect(mode(network, null, full)).toBe('governed');
    }
    expect(() => mode({}, false, { networkIsolation: false } as never)).toThrow('driver');
  });
  it('become a policy in which allow_internet_access denies all but what is allowed', () => {
    const network = { allowOut: ['1.1.1.1'], denyOut: ['8.8.8.8'], egressProxy: { address: 'p.test:1' } };
    expect(policyOf({ network, allowInternetAccess: false }, { egressProxyPassword: 'pw' })).toEqual({
      allowOut: ['1.1.1.1'],
      denyOut: ['0.0.0.0/0'],
      rules: {},
      proxy: { address: 'p.test:1', password: 'pw' },
    });
  });
  it.each([
    [{ denyOut: ['10.0.0.0/08'] }, /^network\.denyOut: '10\.0\.0\.0\/08'/],
    [{ rules: { '203.0.113.7': [] } }, /^network\.rules: '203\.0\.113\.7'/],
    [{ denyOut: Array<string>(2_000).fill('1.2.3.4') }, /2000 entries/],
    [{ allowOut: 'a.test' as unknown as string[] }, /^network has an unknown shape$/],
  ])('that were stored and cannot be read become none: %#', (network, problem) => {
    const config = { network, allowInternetAccess: null };
    expect(policyProblem(config)).toMatch(problem);
    expect(egressMode(policyOf(config))).toBe('none');
  });
  it('ask for the flag before looking at the proxy', () => {
    const network = { egressProxy: { address: 'bad' } };
    expect(() => checkNetwork(network, { egressProxy: false })).toThrow('network.egressProxy');
    expect(() => checkNetwork(network, { egressProxy: true })).toThrow('host:port');
  });
  it('take domains, and no address in a spelling that only some programs understand', () => {
    const check = (entry: string) =>
      checkNetwork({ allowOut: [entry], denyOut: ['0.0.0.0/0'] }, { egressProxy: false });
    for (const good of ['*', '*.a.test', 'A.test', '1.1.1.1/8', '2606::1']) expect(check(good)).toBeTruthy();
    for (const bad of ['010.0.0.1', '0x7f.1', '127.1', '2130706433', 'a b', '*.*'])
      expect(() => check(bad)).toThrow('is not an IP address, CIDR range or domain');
  });
  it('name what is wrong with a rule', () => {
    const check = (name: string, value: string) =>
      checkNetwork(
        { rules: { 'A.test': [{ transform: { headers: { [name]: value } } }] } },
        { egressProxy: false },
      );
    expect(check('x', '${svc.secrets.key}').rules).toHaveProperty(['a.test']);
    expect(() => check('Host', 'b')).toThrow("network.rules: the header 'host' may not be set");
    expect(() => check('x', '${svc.secrets.')).toThrow('network.rules: a placeholder is malformed');
  });
});

describe('samples', () => {
  it('give the CPU share of all cores between two readings', () => {
    const sandbox = { id: 'ia', team_id: 't', cpu_count: 2, memory_mb: 512, disk_mb: 1 };
    const stats = {
      cpuUsageUs: 6_000_000,
      cpuCount: 2,
      memoryBytes: 1,
      memoryLimitBytes: 0,
      memoryCacheBytes: 0,
      diskUsedBytes: 0,
      diskLimitBytes: 0,
      pids: 1,
    };
    expect(sampleOf(sandbox, 5_000, stats, { cpuUsageUs: 1_000_000, at: 0 })).toMatchObject({
      cpu_used_pct: 50,
      mem_total: 512 * 1_048_576,
    });
    expect(sampleOf(sandbox, 5_000, stats, undefined).cpu_used_pct).toBe(0);
  });
});

describe('the place of a volume', () => {
  const ids = new Map([['data', 'id']]);
  it.each([
    ['', 'the path is empty'],
    ['data', 'the path is not absolute'],
    ['/', 'the path is not clean'],
    ['/a/../proc', 'the path is not clean'],
    ['/a/', 'the path is not clean'],
    ['/proc', "nothing can be mounted in /proc, which is the kernel's"],
    ['/dev/shm/x', "nothing can be mounted in /dev, which is the kernel's"],
    [`/${'x'.repeat(256)}`, 'the path is too long'],
    ['/x'.repeat(2_001), 'the path is too long'],
    ['/used', "the path '/used' is used twice"],
    ['/mnt/data', undefined],
    ['/process', undefined],
    ['/mnt/ü b', undefined],
  ])('%j: %s', (path, problem) => {
    expect(mountProblem({ name: 'data', path }, [{ name: 'data', path: '/used' }], ids)).toBe(problem);
  });
});
