import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { DriverError } from '../../contract/errors.js';
import type { ForwardedDestinations, InstanceNetwork } from '../../contract/instance.js';
import { readText } from '../../shared/read-text.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import type { ScriptResult } from '../namespace/script-call.js';
import type { NetworkOptions } from '../state/options.js';
import type { Paths } from '../state/paths.js';
import { forwardRules, withdrawRules } from './forward-rules.js';
import {
  type ConnectionLimits,
  gatewayRules,
  hostRules,
  LINK_GROUP,
  NAME_SERVER,
  PROXY_MARK,
} from './nft-rules.js';
import { requireRanges } from './ranges.js';
import {
  type LinkRefusals,
  type LinkSent,
  type LinkTraffic,
  readForwarded,
  readRefusals,
  readSent,
} from './read-counters.js';
import { withdrawnFilter } from './withdrawn.js';

const BLOCK_BITS = 20;
/** Pairs of addresses in a block: a lease is the number of one. The first is the gateway's. */
const LEASES = 2 ** (32 - BLOCK_BITS - 2);
const TIMEOUT_MS = 30_000;
/** Characters of one sandbox's counts: 128 destinations, three counts each. */
const FORWARDED_TEXT = 16 * 1024;
/** Characters of one lease's count. */
const SENT_TEXT = 64;

/**
 * One gateway namespace per driver, a veth pair (/30) from it to each sandbox and one to the host. The host gets one
 * interface, one route and one nft table; everything about sandboxes is in the gateway.
 */
export class Network {
  readonly #paths: Paths;
  readonly #options: NetworkOptions;
  readonly #used = new Set<number>();
  /** The destinations that are forwarded past the egress process, by lease. */
  readonly #forwarded = new Map<number, ForwardedDestinations>();
  /** Leases whose sandboxes send nothing until {@link forward} succeeds: what it forwarded before could not be withdrawn. */
  readonly #closed = new Set<number>();
  #next = 1;
  #base = 0;
  /** Interface of the default route, when forwarding was off there before us. */
  #turnedOn: string | undefined;
  /** Fingerprint of the rules that stand. */
  #rules: string | undefined;
  /** The reason why no packet can leave for the internet. Undefined: packets can. */
  egressProblem: string | undefined;
  /** Why nothing can be redirected to an egress process. */
  redirectProblem: string | undefined;
  /** True if the egress process resolves names for sandboxes. */
  resolves = false;

  constructor(paths: Paths, options: NetworkOptions) {
    this.#paths = paths;
    this.#options = options;
    requireRanges(options.allowRanges ?? []);
    const stored = readJson(paths.networkFile);
    if (typeof stored?.base === 'number') this.#base = stored.base;
    if (typeof stored?.turnedOn === 'string') this.#turnedOn = stored.turnedOn;
    if (typeof stored?.rules === 'string') this.#rules = stored.rules;
    if (typeof stored?.redirectProblem === 'string') this.redirectProblem = stored.redirectProblem;
  }

  get #link(): string {
    return `svc${this.#paths.tag}`;
  }

  get #table(): string {
    return `svc_${this.#paths.tag}`;
  }

  /** Makes host link, gateway rules and host rules. @param fresh the gateway namespace is new and empty. */
  async prepare(keeper: NamespaceKeeper, fresh: boolean): Promise<void> {
    this.egressProblem =
      defaultInterface(routes()) === undefined
        ? 'The host has no default route: sandboxes reach no internet.'
        : undefined;
    this.#forwarded.clear();
    if (!fresh && this.#base !== 0) {
      await this.#update(keeper);
      return this.#forwardNone(keeper);
    }
    await this.#takeDown(keeper, undefined);
    const candidates = this.#base === 0 ? [] : [this.#base];
    candidates.push(...blocks(this.#options.pool ?? '10.200.0.0/13', this.#paths.tag));
    for (const base of candidates) {
      if (await this.#tryBlock(keeper, base)) {
        this.#base = base;
        this.#store();
        return;
      }
    }
    throw new DriverError(
      'unsupported',
      'No free address block is left for sandboxes; choose another network pool.',
    );
  }

  #store(): void {
    const { redirectProblem } = this;
    const facts = { base: this.#base, turnedOn: this.#turnedOn, rules: this.#rules, redirectProblem };
    writeFileSync(this.#paths.networkFile, JSON.stringify(facts), { mode: 0o600 });
  }

  /** Another version or other settings may want other rules than those of the gateway that was found. */
  async #update(keeper: NamespaceKeeper): Promise<void> {
    const variables = this.#rulesFor(this.#base);
    if (fingerprint(variables) === this.#rules) return;
    this.#took(
      variables,
      await keeper.script({ name: 'network_update', variables }, { timeoutMs: TIMEOUT_MS }),
    );
    this.#store();
  }

  #rulesFor(base: number) {
    const block = `${address(base)}/${BLOCK_BITS}`;
    const allowRanges = this.#options.allowRanges ?? [];
    const rules = { limits: this.#connectionLimits(), block, allowRanges };
    const host = { table: this.#table, link: this.#link, block, outward: this.#turnedOn, allowRanges };
    return {
      GATEWAY_RULES: gatewayRules({ ...rules, proxied: true }),
      RULES_WITHOUT_PROXY: gatewayRules({ ...rules, proxied: false }),
      HOST_RULES: hostRules(host),
      NAME_SERVER,
      PROXY_MARK,
    };
  }

  /** Takes what a script that sets rules answered. @throws {DriverError} `unsupported` */
  #took(variables: Record<string, string | number>, { code, answers, stderr }: ScriptResult): void {
    if (code !== 0)
      throw new DriverError('unsupported', 'The network of the sandboxes cannot be made on this host.', {
        detail: stderr.trim(),
      });
    this.#rules = fingerprint(variables);
    this.redirectProblem =
      answers.unproxied === undefined
        ? undefined
        : `The kernel cannot redirect connections to an egress process: ${answers.unproxied}`;
  }

  async #tryBlock(keeper: NamespaceKeeper, base: number): Promise<boolean> {
    for (const line of routes()) {
      const fields = line.split('\t');
      if (fields.length < 8) continue;
      const destination = littleEndian(fields[1]!);
      const mask = littleEndian(fields[7]!);
      if (
        mask !== 0 &&
        ((base & mask) === (destination & mask) || (destination & blockMask()) >>> 0 === base)
      )
        return false;
    }
    const outward = defaultInterface(routes());
    if (outward !== undefined && readFileSync(forwardingFile(outward), 'utf8').trim() === '0')
      this.#turnedOn = outward;
    const rules = this.#rulesFor(base);
    const result = await keeper.script(
      {
        name: 'network_make',
        variables: {
          LINK: this.#link,
          BLOCK: `${address(base)}/${BLOCK_BITS}`,
          HOST_ADDRESS: address(base + 1),
          GATEWAY_ADDRESS: address(base + 2),
          OUTWARD: outward,
          ...rules,
        },
      },
      { timeoutMs: TIMEOUT_MS },
    );
    if (result.code !== 0 && result.answers.taken !== undefined) return false;
    this.#took(rules, result);
    return true;
  }

  #connectionLimits(): ConnectionLimits {
    const read = readText('/proc/sys/net/netfilter/nf_conntrack_max');
    const table = Number(read) > 0 ? Number(read) : 65_536;
    const total = Math.floor(table / 2);
    return { perSandbox: Math.min(this.#options.maxConnections ?? 4_096, total), total };
  }

  reserve(lease: number): void {
    this.#used.add(lease);
  }

  /**
   * Takes a free lease.
   * @param address taken if it is free: sockets of stored memory may be bound to it, or connected from it.
   * @throws {DriverError} `no_capacity`
   */
  take(address?: string): number {
    const former = address === undefined ? undefined : this.#leaseOf(address);
    if (former !== undefined && !this.#used.has(former)) {
      this.#used.add(former);
      return former;
    }
    for (let tried = 0; tried < LEASES; tried += 1) {
      const lease = this.#next;
      this.#next = lease + 1 >= LEASES ? 1 : lease + 1;
      if (!this.#used.has(lease)) {
        this.#used.add(lease);
        return lease;
      }
    }
    throw new DriverError('no_capacity', 'All addresses for sandboxes are taken.');
  }

  release(lease: number): void {
    this.#forwarded.delete(lease);
    this.#closed.delete(lease);
    this.#used.delete(lease);
  }

  /** The lease whose sandbox has an address. Undefined: it is of no lease of this block. */
  #leaseOf(text: string): number | undefined {
    const number = text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
    const lease = (number - this.#base - 2) / 4;
    return Number.isInteger(lease) && lease >= 1 && lease < LEASES ? lease : undefined;
  }

  /** Address of the sandbox with this lease. */
  addressOf(lease: number): string {
    return address(this.#base + 4 * lease + 2);
  }

  /** The variables of `network_attach` in the scripts for the veth pair between the gateway and a sandbox. */
  pairOf(lease: number, network: InstanceNetwork): Record<'NEAR' | 'GROUP' | 'GATEWAY' | 'ADDRESS', string> {
    return {
      ...groupOf(lease, network),
      GATEWAY: address(this.#base + 4 * lease + 1),
      ADDRESS: this.addressOf(lease),
    };
  }

  /** Joins the network namespace of a process to the gateway. */
  async attach(keeper: NamespaceKeeper, pid: number, lease: number, network: InstanceNetwork): Promise<void> {
    const variables = this.pairOf(lease, network);
    await keeper.script(
      { name: 'network_attach', variables, arguments: [String(pid)] },
      { timeoutMs: TIMEOUT_MS },
    );
  }

  /**
   * Changes the mode of a sandbox.
   * @param pid a process of it: its connections that take a way of the old mode end. Absent: it has none yet.
   * @throws {DriverError} `instance_gone`
   */
  async change(
    keeper: NamespaceKeeper,
    lease: number,
    network: InstanceNetwork,
    pid?: number,
  ): Promise<void> {
    const variables = {
      ...groupOf(lease, network),
      ADDRESS: this.addressOf(lease),
      HOST_ADDRESS: address(this.#base + 1),
    };
    const { code, stderr } = await keeper.script(
      { name: 'network_change', variables, arguments: pid === undefined ? [] : [String(pid)] },
      { timeoutMs: TIMEOUT_MS },
    );
    if (code !== 0)
      throw new DriverError('instance_gone', 'The network of the sandbox is gone.', {
        detail: stderr.trim(),
      });
  }

  /** Gives sandboxes the modes that their records say, which a server that was killed may not have come to do. */
  async enforce(
    keeper: NamespaceKeeper,
    all: readonly { lease: number; network: InstanceNetwork }[],
  ): Promise<void> {
    if (all.length === 0) return;
    const words = all.map(({ lease, network }) => `${LINK_GROUP[network.egress]}:${lease}`);
    await keeper.script({ name: 'network_enforce', arguments: words }, { timeoutMs: TIMEOUT_MS });
  }

  /**
   * Changes what is forwarded past the egress process.
   * @param pid a process of the sandbox: its connections that are forwarded no longer end. Absent: it has none yet.
   * @throws {DriverError} `instance_gone`, the sandbox sends nothing then; `unsupported`, nothing is forwarded then
   */
  async forward(
    keeper: NamespaceKeeper,
    lease: number,
    destinations: ForwardedDestinations,
    pid?: number,
  ): Promise<void> {
    const before = this.#forwarded.get(lease);
    if (before === undefined && destinations.ranges.length === 0) return;
    this.#forwarded.set(lease, destinations);
    const none = { ranges: [], exceptPorts: [] };
    const rules = forwardRules(lease, destinations);
    const ended = withdrawnFilter(before, destinations);
    const { code, answers, stderr } = await this.#changeForwarded(keeper, lease, rules, {
      fallback: forwardRules(lease, none),
      ...(ended === undefined ? {} : { ended }),
      ...(pid === undefined ? {} : { pid }),
    });
    if (code !== 0) {
      this.#closed.add(lease);
      throw new DriverError('instance_gone', 'The network of the sandbox is gone.', {
        detail: stderr.trim(),
      });
    }
    if (this.#closed.delete(lease)) await this.change(keeper, lease, { egress: 'governed' });
    if (answers.unforwarded === undefined) return;
    this.#forwarded.set(lease, none);
    throw new DriverError('unsupported', 'The kernel cannot forward some connections of a sandbox.', {
      detail: answers.unforwarded,
    });
  }

  /** Forwards nothing of a lease any more, and forgets what was. @throws {DriverError} `instance_gone` */
  async withdraw(keeper: NamespaceKeeper, lease: number): Promise<void> {
    if (!this.#forwarded.has(lease)) return;
    const rules = withdrawRules(lease);
    const { code, stderr } = await this.#changeForwarded(keeper, lease, rules, { fallback: rules });
    if (code !== 0)
      throw new DriverError('instance_gone', 'What is forwarded for a sandbox cannot be withdrawn.', {
        detail: stderr.trim(),
      });
    this.#forwarded.delete(lease);
  }

  #changeForwarded(
    keeper: NamespaceKeeper,
    lease: number,
    rules: string,
    { fallback, ended, pid }: { fallback: string; ended?: string; pid?: number },
  ): Promise<ScriptResult> {
    // Traffic from the host stays, as do connections of the sandbox to itself.
    const kept = `not dst ${address(this.#base + 1)} and not dst 127.0.0.0/8`;
    const variables = {
      NEAR: `s${lease}`,
      RULES: rules,
      FALLBACK: fallback,
      ENDED: ended === undefined ? undefined : `${kept} and ( ${ended} )`,
    };
    return keeper.script(
      { name: 'network_forward_some', variables, arguments: pid === undefined ? [] : [String(pid)] },
      { timeoutMs: TIMEOUT_MS },
    );
  }

  /** Stops the forwarding of an earlier driver. @throws {DriverError} `unsupported` */
  async #forwardNone(keeper: NamespaceKeeper): Promise<void> {
    const { code, stderr } = await keeper.script({ name: 'network_forward_none' }, { timeoutMs: TIMEOUT_MS });
    if (code !== 0)
      throw new DriverError('unsupported', 'What was forwarded for sandboxes cannot be withdrawn.', {
        detail: stderr.trim(),
      });
  }

  /** The traffic that was forwarded past the egress process. @throws {DriverError} `unreachable` */
  async forwarded(keeper: NamespaceKeeper): Promise<LinkTraffic[]> {
    const leases = [...this.#forwarded.keys()].map(String);
    if (leases.length === 0) return [];
    const { code, answers, stderr } = await keeper.script(
      { name: 'network_forwarded', arguments: leases },
      { timeoutMs: TIMEOUT_MS, outputLimit: leases.length * FORWARDED_TEXT },
    );
    if (code !== 0 || Object.keys(answers).length === 0)
      throw new DriverError('unreachable', 'The counters of forwarded packets cannot be read.', {
        detail: stderr.trim(),
      });
    return readForwarded(answers);
  }

  /** The bytes that left by each lease without the egress process. @throws {DriverError} `unreachable` */
  async sent(keeper: NamespaceKeeper): Promise<LinkSent[]> {
    const { code, answers, stderr } = await keeper.script(
      { name: 'network_sent' },
      { timeoutMs: TIMEOUT_MS, outputLimit: LEASES * SENT_TEXT },
    );
    if (code !== 0 || answers.sent === undefined)
      throw new DriverError('unreachable', 'The counters of sent bytes cannot be read.', {
        detail: stderr.trim(),
      });
    return readSent(answers.sent, (text) => (parseAddress(text) - this.#base - 2) / 4);
  }

  /** The packets of each sandbox that the gateway refused. @throws {DriverError} `unreachable` */
  async refusals(keeper: NamespaceKeeper): Promise<LinkRefusals[]> {
    const { code, answers, stderr } = await keeper.script(
      { name: 'network_refusals' },
      { timeoutMs: TIMEOUT_MS },
    );
    if (code !== 0 || Object.keys(answers).length === 0)
      throw new DriverError('unreachable', 'The counters of refused packets cannot be read.', {
        detail: stderr.trim(),
      });
    return readRefusals(answers);
  }

  /** Removes what is on the host. Forwarding goes off again with the last driver that needs it. */
  async remove(keeper: NamespaceKeeper): Promise<void> {
    await this.#takeDown(keeper, this.#turnedOn);
    this.#turnedOn = undefined;
  }

  async #takeDown(keeper: NamespaceKeeper, forwarded: string | undefined): Promise<void> {
    const variables = { LINK: this.#link, TABLE: this.#table, FORWARDED: forwarded };
    await keeper.script({ name: 'network_remove', variables }, { timeoutMs: TIMEOUT_MS });
  }

  nameServers(): string[] {
    if (this.resolves) return [NAME_SERVER];
    if (this.#options.nameServers !== undefined) return this.#options.nameServers;
    const text = existsSync('/etc/resolv.conf') ? readFileSync('/etc/resolv.conf', 'utf8') : '';
    const listed = [...text.matchAll(/^nameserver\s+(\d+\.\d+\.\d+\.\d+)\s*$/gm)].map((match) => match[1]!);
    const reachable = listed.filter(
      (server) =>
        !/^(0|10|127|169\.254|192\.168|192\.0\.2|172\.(1[6-9]|2\d|3[01])|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])|198\.1[89])\./.test(
          server,
        ),
    );
    return reachable.length > 0 ? reachable : ['1.1.1.1', '8.8.8.8'];
  }
}

/** The gateway's end of a sandbox, and the group that its mode is. */
function groupOf(lease: number, { egress }: InstanceNetwork): Record<'NEAR' | 'GROUP', string> {
  return { NEAR: `s${lease}`, GROUP: String(LINK_GROUP[egress]) };
}

function fingerprint(rules: Record<string, string | number>): string {
  return createHash('sha256').update(JSON.stringify(rules)).digest('hex');
}

/** The host's IPv4 routes as the kernel prints them. */
function routes(): string[] {
  return readFileSync('/proc/net/route', 'utf8').split('\n').slice(1);
}

/** Interface of the IPv4 default route, from the lines of `/proc/net/route`. */
function defaultInterface(lines: string[]): string | undefined {
  return lines
    .map((line) => line.split('\t'))
    .find((fields) => fields[1] === '00000000' && fields[7] === '00000000')?.[0];
}

function forwardingFile(name: string): string {
  return `/proc/sys/net/ipv4/conf/${name}/forwarding`;
}

function blockMask(): number {
  return (0xffffffff << (32 - BLOCK_BITS)) >>> 0;
}

/** Blocks of the pool in an order that differs per data directory, so that drivers rarely meet. */
function blocks(pool: string, tag: string): number[] {
  const [start, bits] = pool.split('/');
  const base = parseAddress(start ?? '');
  const count = 2 ** Math.max(0, BLOCK_BITS - Number(bits));
  const first = Number.parseInt(tag, 16) % count;
  return Array.from(
    { length: count },
    (_, index) => base + ((first + index) % count) * 2 ** (32 - BLOCK_BITS),
  );
}

function parseAddress(text: string): number {
  const parts = text.split('.').map(Number);
  if (parts.length !== 4 || parts.some((part) => !(part >= 0 && part <= 255))) {
    throw new DriverError('invalid_spec', `"${text}" is not an IPv4 address.`);
  }
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

function address(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
}

/** The kernel prints addresses of its route table in memory order. */
function littleEndian(hex: string): number {
  return Buffer.from(hex, 'hex').readUInt32LE(0);
}

function readJson(path: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
