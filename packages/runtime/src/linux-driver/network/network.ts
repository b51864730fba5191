import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { quote } from '#support/quote';
import { DriverError } from '../../contract/errors.js';
import type { InstanceNetwork } from '../../contract/instance.js';
import { readText } from '../../shared/read-text.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import { PING_GROUPS } from '../oci/oci-config.js';
import type { NetworkOptions } from '../state/options.js';
import type { Paths } from '../state/paths.js';
import { type ConnectionLimits, GATEWAY_END, gatewayRules, hostRules } from './nft-rules.js';

const BLOCK_BITS = 20;
const SLOTS = 2 ** (32 - BLOCK_BITS - 2);

/**
 * Every cable joins two ends and nothing else, so its ends can have the same hardware addresses as any other's. Both
 * know each other from the start: an address request that gets lost on a fresh cable is only repeated after a second.
 */
const MAC = {
  gateway: '02:00:00:00:00:01',
  inside: '02:00:00:00:00:02',
  host: '02:00:00:00:00:03',
  uplink: '02:00:00:00:00:04',
};

/**
 * One gateway namespace per driver, a cable (veth, /30) from it to each sandbox and one to the host. The host gets one
 * interface, one route and one nft table; everything about sandboxes stands in the gateway.
 */
export class Network {
  readonly #paths: Paths;
  readonly #options: NetworkOptions;
  readonly #used = new Set<number>();
  #next = 1;
  #base = 0;
  /** Interface of the default route, when forwarding was off there before us. */
  #turnedOn: string | undefined;
  /** Whether packets can leave for the internet at all, and if not why. */
  egressProblem: string | undefined;

  constructor(paths: Paths, options: NetworkOptions) {
    this.#paths = paths;
    this.#options = options;
    const stored = readJson(paths.networkFile);
    if (typeof stored?.base === 'number') this.#base = stored.base;
    if (typeof stored?.turnedOn === 'string') this.#turnedOn = stored.turnedOn;
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
    if (!fresh && this.#base !== 0) return;
    await keeper.script(
      `ip link del ${this.#link} 2>/dev/null; nft delete table inet ${this.#table} 2>/dev/null; true`,
      {
        timeoutMs: 20_000,
      },
    );
    const candidates = this.#base === 0 ? [] : [this.#base];
    candidates.push(...blocks(this.#options.pool ?? '10.200.0.0/13', this.#paths.tag));
    for (const base of candidates) {
      if (await this.#tryBlock(keeper, base)) {
        this.#base = base;
        writeFileSync(this.#paths.networkFile, JSON.stringify({ base, turnedOn: this.#turnedOn }), {
          mode: 0o600,
        });
        return;
      }
    }
    throw new DriverError(
      'unsupported',
      'No free address block is left for sandboxes; choose another network pool.',
    );
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
    const link = this.#link;
    const [host, gateway] = [address(base + 1), address(base + 2)];
    const block = `${address(base)}/${BLOCK_BITS}`;
    const outward = defaultInterface(routes());
    if (outward !== undefined && readFileSync(forwardingFile(outward), 'utf8').trim() === '0')
      this.#turnedOn = outward;
    const result = await keeper.script(
      `set -e
sysctl() { [ -w "/proc/sys/net/$1" ] && echo "$2" > "/proc/sys/net/$1"; }
nsenter --net=/run/netns/gw sh -ec '
  echo 1 > /proc/sys/net/ipv4/ip_forward
  for f in all default; do echo 1 > /proc/sys/net/ipv6/conf/$f/disable_ipv6 2>/dev/null || true; done
  nft -f -
' <<'RULES'
${gatewayRules(this.#connectionLimits())}
RULES
ip link add ${link} address ${MAC.host} type veth peer name uplink address ${MAC.uplink} netns gw
trap 'test $? = 0 || ip link del ${link}' EXIT
ip addr add ${host}/30 dev ${link}; ip link set ${link} up
printf '%s\\n' 'link set lo up' 'addr add ${gateway}/30 dev uplink' 'link set uplink up' 'route add default via ${host}' 'neigh replace ${host} lladdr ${MAC.host} dev uplink nud permanent' | ip -n gw -batch -
ip neigh replace ${gateway} lladdr ${MAC.uplink} dev ${link} nud permanent
ip route add ${block} via ${gateway}
nft -f - <<'RULES'
${hostRules(this.#table, link, block, this.#turnedOn)}
RULES
sysctl ipv4/conf/${link}/forwarding 1
${outward === undefined ? '' : `sysctl ipv4/conf/${quote(outward)}/forwarding 1`}
`,
      { timeoutMs: 30_000 },
    );
    if (result.code !== 0) {
      if (/File exists/.test(result.stderr)) return false;
      throw new DriverError('unsupported', 'The network of the sandboxes cannot be made on this host.', {
        detail: result.stderr.trim(),
      });
    }
    return true;
  }

  #connectionLimits(): ConnectionLimits {
    const read = readText('/proc/sys/net/netfilter/nf_conntrack_max');
    const table = Number(read) > 0 ? Number(read) : 65_536;
    const total = Math.floor(table / 2);
    return { perSandbox: Math.min(this.#options.maxConnections ?? 4_096, total), total };
  }

  reserve(slot: number): void {
    this.#used.add(slot);
  }

  /** Takes a free slot. @throws {DriverError} `no_capacity` */
  take(): number {
    for (let tried = 0; tried < SLOTS; tried += 1) {
      const slot = this.#next;
      this.#next = slot + 1 >= SLOTS ? 1 : slot + 1;
      if (!this.#used.has(slot)) {
        this.#used.add(slot);
        return slot;
      }
    }
    throw new DriverError('no_capacity', 'All addresses for sandboxes are taken.');
  }

  release(slot: number): void {
    this.#used.delete(slot);
  }

  /** Address of the sandbox with this slot. */
  addressOf(slot: number): string {
    return address(this.#base + 4 * slot + 2);
  }

  /** Shell lines that lay the cable to the namespace of process `$PID`, and name the machine in there when asked. */
  plumb(slot: number, network: InstanceNetwork, hostname?: string): string {
    const near = `${GATEWAY_END[network.egress]}${slot}`;
    const [gateway, inside] = [address(this.#base + 4 * slot + 1), address(this.#base + 4 * slot + 2)];
    const enter =
      hostname === undefined
        ? 'nsenter --net=/proc/$PID/ns/net ip -batch -'
        : `nsenter --net=/proc/$PID/ns/net --uts=/proc/$PID/ns/uts sh -c 'echo ${hostname} > /proc/sys/kernel/hostname; echo ${PING_GROUPS} > /proc/sys/net/ipv4/ping_group_range; exec ip -batch -'`;
    return `ip -n gw -batch - <<BATCH
link add name ${near} address ${MAC.gateway} type veth peer name eth0 address ${MAC.inside} netns $PID
addr add ${gateway}/30 dev ${near}
neigh replace ${inside} lladdr ${MAC.inside} dev ${near} nud permanent
link set ${near} up
BATCH
${enter} <<BATCH
link set lo up
addr add ${inside}/30 dev eth0
neigh replace ${gateway} lladdr ${MAC.gateway} dev eth0 nud permanent
link set eth0 up
route add default via ${gateway}
BATCH
`;
  }

  /** Shell line that takes the cable away. Slow (RCU): run it where nobody waits. */
  unplumb(slot: number): string {
    return `ip -n gw link del i${slot} 2>/dev/null || ip -n gw link del n${slot} 2>/dev/null || true`;
  }

  /** Removes what stands on the host. Forwarding goes off again with the last driver that needs it. */
  async remove(keeper: NamespaceKeeper): Promise<void> {
    const off =
      this.#turnedOn === undefined
        ? ''
        : `nft list tables | grep -q ' svc_' || echo 0 > ${quote(forwardingFile(this.#turnedOn))}`;
    await keeper.script(
      `ip link del ${this.#link} 2>/dev/null; nft delete table inet ${this.#table} 2>/dev/null\n${off}\ntrue`,
      { timeoutMs: 20_000 },
    );
    this.#turnedOn = undefined;
  }

  nameServers(): string[] {
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
