import type { EgressAuthority, EgressControl, EgressHandlers, EgressSandbox } from '@svc/egress';
import type { Instance, InstanceEnd } from '@svc/runtime';
import { eventually } from '@svc/support/eventually';
import { afterEach, describe, expect, it } from 'vitest';
import { EgressLink } from '../../src/egress/egress-link.js';

const AUTHORITY: EgressAuthority = { certificate: 'cert', privateKey: 'key' };
const HANDLERS = {} as EgressHandlers;
const POLICY = { allowOut: [], denyOut: ['8.8.8.8'], rules: {} };

/** What an egress process knows, and how often it was started. */
class FakeEgress {
  known = new Map<string, EgressSandbox>();
  authority: EgressAuthority | undefined;
  starts = 0;
  reachable = true;
  answers = true;
  #end: (() => void) | undefined;

  connect = async (): Promise<EgressControl> => {
    if (!this.reachable) throw new Error('it is starting');
    this.starts += 1;
    const closed = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    const answer = () => (this.answers ? Promise.resolve() : new Promise<void>(() => {}));
    return {
      setSandboxes: async (all) => {
        await answer();
        this.known = new Map(all.map((sandbox) => [sandbox.id, sandbox]));
      },
      setSandbox: async (sandbox) => {
        await answer();
        this.known.set(sandbox.id, sandbox);
      },
      removeSandbox: async (id) => {
        await answer();
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
const linkTo = (egress: FakeEgress): EgressLink => {
  link = new EgressLink({
    connect: egress.connect,
    authority: async () => AUTHORITY,
    extraRoots: '',
    handlers: HANDLERS,
    onProblem: () => {},
  });
  return link;
};
afterEach(() => link.close());

describe('the link to the egress process', () => {
  it('has told a policy when it says so', async () => {
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

  it('tells everything again to a process that was started again', async () => {
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
});
