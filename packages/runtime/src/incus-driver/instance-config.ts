import { DriverError } from '../contract/errors.js';
import type { InstanceLimits, InstanceMount, InstanceSpec } from '../contract/instance.js';
import { HOST_BASE } from '../shared/base-name.js';
import { HARDENING } from './hardening.js';
import { keys } from './keys.js';
import { CARD, cardDevice } from './network/card-device.js';
import type { CardMode } from './network/card-name.js';
import { READY } from './network/plug-card.js';
import { requireNetwork } from './network/require-network.js';

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
    // A copy would have the one of its source.
    [keys.card]: READY,
    ...limitsConfig(limits),
    ...HARDENING,
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
  mode: CardMode;
  limits: InstanceLimits;
  /** Of the image: Incus counts it with what is written on top. */
  imageBytes: number;
  /** Volumes. */
  mounts?: Record<string, Record<string, string>>;
}): Record<string, Record<string, string>> {
  const { pool, parent, address, mode, limits, imageBytes, mounts = {} } = options;
  return {
    root: {
      type: 'disk',
      path: '/',
      pool,
      ...(limits.diskMiB === undefined
        ? {}
        : { size: `${limits.diskMiB + Math.ceil(imageBytes / 2 ** 20)}MiB` }),
    },
    [CARD]: cardDevice({ parent, address, mode }),
    ...mounts,
  };
}

/**
 * @param abilities.fenced whether the operator says that the members have the fence.
 * @param abilities.mountProblem why volumes cannot be mounted. Undefined: they can.
 * @throws {DriverError} what Incus cannot do, or nobody could.
 */
export function requireSpec(
  spec: InstanceSpec,
  { fenced, mountProblem }: { fenced: boolean; mountProblem: string | undefined },
): void {
  if (spec.isolation === 'gvisor')
    throw new DriverError('unsupported', 'Sandboxes of this service run in containers, not in gVisor.');
  for (const mount of spec.mounts) requireMount(mount, mountProblem);
  if (spec.layers.includes(HOST_BASE))
    throw new DriverError(
      'unsupported',
      "The template host shows the server's own machine, and sandboxes of this service run on others: use base, or a template of an image.",
    );
  requireNetwork(spec.network, { fenced });
  const { cpuCount, memoryMiB } = spec.limits;
  if (cpuCount !== undefined && cpuCount < 0.01)
    throw new DriverError('invalid_spec', 'cpuCount is too small.');
  if (memoryMiB !== undefined && memoryMiB < 32)
    throw new DriverError('invalid_spec', 'memoryMiB is too small.');
}

function requireMount({ source, target }: InstanceMount, problem: string | undefined): void {
  if (problem !== undefined)
    throw new DriverError('unsupported', 'Volumes cannot be mounted into sandboxes of this service.', {
      detail: problem,
    });
  if (source !== undefined)
    throw new DriverError('unsupported', "Directories of the server's machine cannot be mounted here.");
  if (!target.startsWith('/') || target.split('/').includes('..') || /[\u0000-\u001f\u007f]/.test(target))
    throw new DriverError('invalid_spec', 'Mounts need absolute paths, without control characters.');
}

export function poolKey(spec: InstanceSpec): string {
  return JSON.stringify([spec.layers, Object.entries(spec.limits).sort(), spec.mounts]);
}
