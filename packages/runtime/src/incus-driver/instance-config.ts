import { DriverError } from '../contract/errors.js';
import type { InstanceLimits, InstanceNetwork, InstanceSpec } from '../contract/instance.js';
import { HOST_BASE } from '../shared/base-name.js';
import { keys } from './keys.js';

const CPU_PERIOD_MS = 100;

export interface InstanceConfigInput {
  spec: Pick<InstanceSpec, 'limits' | 'labels'>;
  /** Of this data directory. */
  owner: string;
  unique: string;
  state: 'pooled' | 'live';
  id: string;
  layers: readonly string[];
  createdAtMs: number;
  /** Command line of the first process. */
  command: readonly string[];
}

/** Configuration keys of an instance. Pure. */
export function instanceConfig(input: InstanceConfigInput): Record<string, string> {
  const { limits } = input.spec;
  return {
    ...recordOf(input),
    [keys.owner]: input.owner,
    [keys.unique]: input.unique,
    [keys.layers]: JSON.stringify(input.layers),
    [keys.limits]: JSON.stringify(limits),
    ...limitsConfig(limits),
    // Root of each is nobody on its machine, and somebody else than the root of its neighbours.
    'security.privileged': 'false',
    'security.idmap.isolated': 'true',
    'security.nesting': 'false',
    'security.guestapi': 'false',
    // What was lost with its machine must not come back on its own: the service has told that it is gone.
    'boot.autostart': 'false',
    // A machine that is to be empty is so at once: memory cannot move to another, and who is frozen would not hear a request to end.
    'cluster.evacuate': 'stop',
    'boot.host_shutdown_timeout': '5',
    'environment.PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    'environment.HOME': '/root',
    'raw.lxc': [
      `lxc.init.cmd = ${input.command.join(' ')}`,
      `lxc.uts.name = ${input.id}`,
      // An interactive console is nobody's, and a restart by the program inside is an end.
      'lxc.signal.halt = SIGKILL',
    ].join('\n'),
  };
}

/** The keys that change when an instance of the pool is given to somebody. Pure. */
export function recordOf(
  input: Pick<InstanceConfigInput, 'state' | 'id' | 'createdAtMs'> & { spec: Pick<InstanceSpec, 'labels'> },
): Record<string, string> {
  return {
    [keys.state]: input.state,
    [keys.id]: input.id,
    [keys.labels]: JSON.stringify(input.spec.labels),
    [keys.createdAtMs]: String(input.createdAtMs),
  };
}

function limitsConfig({ cpuCount, memoryMiB, pids }: InstanceLimits): Record<string, string> {
  return {
    ...(cpuCount === undefined
      ? {}
      : {
          'limits.cpu.allowance': `${Math.max(1, Math.round(cpuCount * CPU_PERIOD_MS))}ms/${CPU_PERIOD_MS}ms`,
        }),
    ...(memoryMiB === undefined ? {} : { 'limits.memory': `${memoryMiB}MiB`, 'limits.memory.swap': 'false' }),
    ...(pids === undefined ? {} : { 'limits.processes': String(pids) }),
  };
}

/** Devices of an instance. Pure. */
export function instanceDevices(options: {
  pool: string;
  parent: string;
  address: string;
  limits: InstanceLimits;
  /** Of the image: Incus counts it with what is written on top. */
  imageBytes: number;
}): Record<string, Record<string, string>> {
  const { pool, parent, address, limits, imageBytes } = options;
  return {
    root: {
      type: 'disk',
      path: '/',
      pool,
      ...(limits.diskMiB === undefined
        ? {}
        : { size: `${limits.diskMiB + Math.ceil(imageBytes / 2 ** 20)}MiB` }),
    },
    eth0: { type: 'nic', nictype: 'routed', name: 'eth0', parent, 'ipv4.address': address },
  };
}

/** @throws {DriverError} what Incus cannot do, or nobody could. */
export function requireSpec(spec: InstanceSpec): void {
  if (spec.isolation === 'gvisor')
    throw new DriverError('unsupported', 'Sandboxes of this service run in containers, not in gVisor.');
  if (spec.mounts.length > 0)
    throw new DriverError('unsupported', 'Volumes cannot be mounted into sandboxes of this service.');
  if (spec.layers.includes(HOST_BASE))
    throw new DriverError(
      'unsupported',
      "The template host shows the server's own machine, and sandboxes of this service run on others: use base, or a template of an image.",
    );
  requireNetwork(spec.network);
  const { cpuCount, memoryMiB } = spec.limits;
  if (cpuCount !== undefined && cpuCount < 0.01)
    throw new DriverError('invalid_spec', 'cpuCount is too small.');
  if (memoryMiB !== undefined && memoryMiB < 32)
    throw new DriverError('invalid_spec', 'memoryMiB is too small.');
}

/** @throws {DriverError} `unsupported` */
export function requireNetwork({ egress }: InstanceNetwork): void {
  if (egress === 'none')
    throw new DriverError('unsupported', 'Sandboxes of this service cannot be kept from the network.');
  if (egress === 'governed')
    throw new DriverError('unsupported', 'Nothing here decides by policy what a sandbox may reach.');
}

export function poolKey(spec: InstanceSpec): string {
  return JSON.stringify([spec.layers, Object.entries(spec.limits).sort()]);
}
