import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  connectEgress,
  type EgressAuthority,
  type EgressControl,
  type EgressHandlers,
  type EgressSandbox,
  egressProgram,
} from '@svc/egress';
import { type EgressPolicy, policyFromSettings, readEgress } from '@svc/network-policy';
import type { Instance, InstanceEnd } from '@svc/runtime/contract';
import { eventually } from '@svc/support/eventually';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { makeAuthority } from '../../src/network/egress/authority.js';
import { EgressLink, EgressUnreachableError } from '../../src/network/egress/egress-link.js';

const AUTHORITY: EgressAuthority = { certificate: 'cert', privateKey: 'key' };
const HANDLERS = { onReports: () => {} } as unknown as EgressHandlers;
const POLICY = { allowOut: [], denyOut: ['8.8.8.8'], rules: {} };

/** The state of an egress process, and its number of starts. */
class FakeEgress {
  known = new Map<string, EgressSandbox>();
  authority: EgressAuthority | undefined;
  starts = 0;
  reachable = true;
  /** Runs before it takes a sandbox over. */
  take: (sandbox: EgressSandbox) => Promise<void> = () => Promise.resolve();
  #end: (() => void) | undefined;

  connect = async (): Promise<EgressControl> => {
    if (!this.reachable) throw new Error('it is starting');
    this.starts += 1;
    const closed = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    return {
      keepSandboxes: async (ids) => {
        for (const id of this.known.keys()) if (!ids.includes(id)) this.known.delete(id);
      },
      setSandbox: async (sandbox) => {
        await this.take(sandbox);
        this.known.set(sandbox.id, sandbox);
      },
      removeSandbox: async (id) => {
        this.known.delete(id);
      },
      setAuthority: async (authority) => {
        this.authority = authority;
      },
      closed,
      close: () => this.#end?.(),
    };
  };

  /** It ends and has forgotten everything when it is back. */
  die(): void {
    this.known.clear();
    this.authority = undefined;
    this.#end?.();
  }
}

const fakeInstance = (id: string, address: string) => {
  let end!: (how: InstanceEnd) => void;
  const ended = new Promise<InstanceEnd>((resolve) => {
    end = resolve;
  });
  return { instance: { id, address, ended } as unknown as Instance, end: () => end({ reason: 'destroyed' }) };
};
const governed = (execution: string) => ({
  execution,
  scope: {
    subject: { id: 'a', team_id: 't', execution_id: execution, template_id: 'tpl' },
    policy: POLICY,
    tokens: {},
    minted: new Map(),
  },
});

let link: EgressLink;
let problems: (string | undefined)[] = [];
const linkTo = (
  { connect }: Pick<FakeEgress, 'connect'>,
  callMs = 5_000,
  authority = AUTHORITY,
): EgressLink => {
  problems = [];
  link = new EgressLink({
    connect,
    authority: async () => authority,
    extraRoots: '',
    handlers: HANDLERS,
    callMs,
    onProblem: (_, sandboxId) => void problems.push(sandboxId),
  });
  return link;
};
afterEach(() => link.close());

describe('the link to the egress process', () => {
  it('has sent a policy when it says so', async () => {
    const egress = new FakeEgress();
    linkTo(egress);
    const { instance } = fakeInstance('a', '10.1.0.2');
    await link.set(instance, governed('run-1'));
    expect(egress.known.get('a')).toEqual({
      id: 'a',
      address: '10.1.0.2',
      execution: 'run-1',
      policy: POLICY,
    });
    expect(egress.authority).toBe(AUTHORITY);
  });

  it('sends everything again to a process that was started again', async () => {
    const egress = new FakeEgress();
    linkTo(egress);
    await link.set(fakeInstance('a', '10.1.0.2').instance, governed('run-1'));
    await link.set(fakeInstance('b', '10.1.0.6').instance, { execution: 'run-2' });
    egress.die();
    await eventually('it knows both again', () => egress.known.size === 2);
    expect(egress.starts).toBe(2);
    expect(egress.authority).toBe(AUTHORITY);
    expect(egress.known.get('b')).not.toHaveProperty('policy');
  });

  it('waits for a process that is starting', async () => {
    const egress = new FakeEgress();
    egress.reachable = false;
    linkTo(egress);
    const told = link.set(fakeInstance('a', '10.1.0.2').instance, governed('run-1'));
    egress.reachable = true;
    await told;
    expect(egress.known.has('a')).toBe(true);
  });

  it('forgets an instance that ended, and not the next one of the same id', async () => {
    const egress = new FakeEgress();
    linkTo(egress);
    const first = fakeInstance('a', '10.1.0.2');
    const second = fakeInstance('a', '10.1.0.6');
    const other = fakeInstance('b', '10.1.0.10');
    await link.set(first.instance, governed('run-1'));
    await link.set(other.instance, governed('run-1'));
    await link.set(second.instance, governed('run-2'));
    first.end();
    other.end();
    await eventually('b is forgotten', () => !egress.known.has('b'));
    expect(egress.known.get('a')).toMatchObject({ address: '10.1.0.6', execution: 'run-2' });
    expect(link.runOf('a', 'run-2')).toBeDefined();
    expect(link.runOf('a', 'run-1')).toBeUndefined();
    second.end();
    await eventually('a is forgotten', () => !egress.known.has('a'));
  });

  it('leaves the newest policy in force, however many come at once', async () => {
    const egress = new FakeEgress();
    linkTo(egress);
    const { instance } = fakeInstance('a', '10.1.0.2');
    await Promise.all(Array.from({ length: 20 }, (_, n) => link.set(instance, governed(`run-${n}`))));
    expect(egress.known.get('a')?.execution).toBe('run-19');
  });

  it('says nothing of a sandbox that ended while the process was starting', async () => {
    const egress = new FakeEgress();
    egress.reachable = false;
    linkTo(egress);
    const [ended, living] = [fakeInstance('a', '10.1.0.2'), fakeInstance('b', '10.1.0.6')];
    const told = [link.set(ended.instance, governed('run-1')), link.set(living.instance, governed('run-1'))];
    ended.end();
    await ended.instance.ended;
    egress.reachable = true;
    await Promise.all(told);
    expect([...egress.known.keys()]).toEqual(['b']);
  });

  it('loses one sandbox alone to a policy that the process refuses, by name, until it is replaced', async () => {
    const egress = new FakeEgress();
    egress.take = async ({ id, execution }) => {
      if (id === 'b' && execution === 'run-1') throw new Error('cannot be read');
    };
    linkTo(egress);
    const [a, b, c] = ['a', 'b', 'c'].map((id, n) => fakeInstance(id, `10.1.0.${n + 2}`).instance);
    await link.set(a!, governed('run-1'));
    await expect(link.set(b!, governed('run-1'))).rejects.toThrow('cannot be read');
    await link.set(c!, governed('run-1'));
    egress.die();
    await eventually('it is connected again', () => egress.starts === 2 && link.connected);
    expect([...egress.known.keys()].sort()).toEqual(['a', 'c']);
    expect([...link.refused]).toEqual([['b', 'cannot be read']]);
    expect(problems).toContain('b');
    await link.set(b!, governed('run-2'));
    expect(egress.known.has('b')).toBe(true);
    expect(link.refused.size).toBe(0);
  });

  it('loses one sandbox alone to a policy that takes too long, and sends it again', async () => {
    const egress = new FakeEgress();
    let slow = true;
    egress.take = ({ id }) => (slow && id === 'b' ? new Promise(() => {}) : Promise.resolve());
    linkTo(egress, 50);
    const [a, b, c] = ['a', 'b', 'c'].map((id, n) => fakeInstance(id, `10.1.0.${n + 2}`).instance);
    await link.set(a!, governed('run-1'));
    await expect(link.set(b!, governed('run-1'))).rejects.toThrow(EgressUnreachableError);
    egress.die();
    await eventually('it is connected again', () => egress.starts === 2 && link.connected);
    await link.set(c!, governed('run-1'));
    expect([...egress.known.keys()].sort()).toEqual(['a', 'c']);
    expect(problems).toContain('b');
    slow = false;
    await eventually('b has its policy', () => egress.known.has('b'));
    expect(egress.starts).toBe(2);
  });

  it('lets new sandboxes in within a second while it sends the largest policies there may be, of 500 sandboxes', async () => {
    const fake = new FakeEgress();
    const connectReal = await realEgress();
    let connect = fake.connect;
    linkTo({ connect: () => connect() }, 5_000, await makeAuthority(Date.now()));
    const largest = { ...governed('run-1'), scope: { ...governed('run-1').scope, policy: largestPolicy() } };
    for (let n = 0; n < 500; n++)
      await link.set(fakeInstance(`big${n}`, `10.2.${n >> 8}.${n & 255}`).instance, largest);
    // The process ends; the next one is a real one.
    connect = connectReal;
    fake.die();
    await eventually('it is disconnected', () => !link.connected);
    const waited: number[] = [];
    const tellingAt = performance.now();
    for (let n = 0; !link.connected; n++) {
      const { instance } = fakeInstance(`new${n}`, `10.1.${n >> 8}.${n & 255}`);
      const beganAt = performance.now();
      await link.set(instance, governed('run-1'));
      waited.push(performance.now() - beganAt);
    }
    expect(waited.length).toBeGreaterThan(2);
    // On a machine that does other things, telling takes long in all, and a new one a small part of that.
    const whole = performance.now() - tellingAt;
    expect(Math.max(...waited)).toBeLessThan(Math.max(1_000, whole / 5));
    expect(link.refused.size).toBe(0);
  });
});

/** As many names as one policy may have bytes for. */
function largestPolicy(): EgressPolicy {
  const labels = ['b', 'c', 'd'].map((letter) => letter.repeat(63)).join('.');
  const allowOut = Array.from({ length: 1_000 }, (_, n) => `a${n}.${labels}.${'e'.repeat(50)}`);
  return policyFromSettings(readEgress({ allowOut, denyOut: ['0.0.0.0/0'] }));
}

/** Starts the built process. Returns what connects to it. */
async function realEgress(): Promise<() => Promise<EgressControl>> {
  const directory = await mkdtemp(path.join(tmpdir(), 'svc-link-'));
  const control = path.join(directory, 'control.sock');
  const args = [egressProgram.entry, '--listen', path.join(directory, 'flows.sock'), '--control', control];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    const ended = once(child, 'exit');
    child.stdin.end();
    await ended;
    await rm(directory, { recursive: true, force: true });
  });
  await once(child.stdout, 'data');
  return () => connectEgress(createConnection(control), HANDLERS);
}
