import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { ArchiveLimits } from '../archive/archive-limits.js';
import {
  type Capabilities,
  type IsolationLevel,
  isolationLevels,
  isolations,
} from '../contract/capabilities.js';
import { DRIVER_ERROR_CODES, DriverError, type DriverErrorCode } from '../contract/errors.js';
import type {
  Instance,
  InstanceEnd,
  InstanceLimits,
  InstanceNetwork,
  InstanceReach,
  InstanceRecord,
  InstanceSpec,
  InstanceStats,
} from '../contract/instance.js';
import {
  VOLUME_ERROR_CODES,
  type VolumeEntry,
  VolumeError,
  type VolumeOwnership,
} from '../contract/volumes.js';
import type * as wire from '../gen/driver/driver_pb.js';
import { FailureSchema, type InstanceSchema, type SpecSchema } from '../gen/driver/driver_pb.js';

/** The code on the wire for a call that was cancelled. */
const ABORTED = 'aborted';

/** The call ended because it was cancelled. */
export class CancelledError extends Error {
  override readonly name = 'CancelledError';
}

/** @throws {DriverError} `invalid_spec`: the other side sent what no version of this one does. */
export function oneOf<const T extends string>(what: string, value: string, known: readonly T[]): T {
  const found = known.find((each) => each === value);
  if (found === undefined)
    throw new DriverError('invalid_spec', `${what} is not known: ${known.join(', ')}.`);
  return found;
}

// Failures

/** A call that failed on the other side. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  readonly failure: wire.Failure;

  constructor(failure: wire.Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

type FailureFields = Pick<wire.Failure, 'code' | 'message' | 'volume' | 'detail'>;

/** Encodes an error of a driver. The details of a defect are for the log alone. @param aborted the call was cancelled */
export function failureToWire(error: unknown, aborted = false): FailureFields {
  if (error instanceof CancelledError || (aborted && !DriverError.is(error)))
    return { code: ABORTED, message: 'The call was cancelled.', volume: false };
  if (VolumeError.is(error)) return { code: error.code, message: error.message, volume: true };
  const [code, message, detail] = DriverError.is(error)
    ? [error.code, error.message, error.detail ?? causeOf(error)]
    : ['', 'The sandbox driver failed.', describe(error)];
  return { code, message, volume: false, ...(detail === undefined ? {} : { detail }) };
}

/** The same as Connect's streams carry it. */
export function toConnectError(error: unknown, aborted: boolean): ConnectError {
  const value = failureToWire(error, aborted);
  const code = value.code === ABORTED ? Code.Canceled : value.code ? Code.FailedPrecondition : Code.Internal;
  return new ConnectError(value.message, code, undefined, [{ desc: FailureSchema, value }]);
}

function causeOf({ cause }: Error): string | undefined {
  return cause === undefined ? undefined : describe(cause);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Decodes a failed call: the driver's own error, {@link CancelledError}, or `unreachable` when there was no answer. */
export function fromCallError(error: unknown): Error {
  const [found] =
    error instanceof CallFailure ? [error.failure] : ConnectError.from(error).findDetails(FailureSchema);
  if (found !== undefined) return failureFromWire(found);
  return new DriverError('unreachable', 'The sandbox runtime does not answer.', {
    cause: error,
    detail: String(error),
  });
}

export function failureFromWire(failure: wire.Failure): Error {
  if (failure.code === ABORTED) return new CancelledError(failure.message);
  const volumeCode = failure.volume && VOLUME_ERROR_CODES.find((each) => each === failure.code);
  if (volumeCode) return new VolumeError(volumeCode, failure.message);
  const code = DRIVER_ERROR_CODES.find((each) => each === failure.code);
  if (code === undefined) return new Error(`${failure.message} ${failure.detail ?? ''}`.trimEnd());
  return new DriverError(code satisfies DriverErrorCode, failure.message, { detail: failure.detail });
}

// Specifications and instances

export function specToWire(spec: InstanceSpec): MessageInitShape<typeof SpecSchema> {
  const mounts = spec.mounts.map(({ volumeId = '', target, readOnly = false }) => ({
    volumeId,
    target,
    readOnly,
  }));
  const { isolation, ...rest } = spec;
  return {
    ...rest,
    mounts,
    limits: limitsToWire(spec.limits),
    egress: spec.network.egress,
    ...(isolation === undefined ? {} : { isolation }),
  };
}

/** An absent specification is an empty one. @throws {DriverError} `invalid_spec` */
export function specFromWire(spec: wire.Spec | undefined): InstanceSpec {
  if (spec === undefined) throw new DriverError('invalid_spec', 'There is no specification.');
  return {
    layers: [...spec.layers],
    limits: limitsFromWire(spec.limits),
    network: networkFromWire(spec.egress),
    mounts: spec.mounts.map(({ volumeId, target, readOnly }) => ({ volumeId, target, readOnly })),
    labels: { ...spec.labels },
    ...(spec.isolation === undefined
      ? {}
      : { isolation: oneOf('The isolation', spec.isolation, isolations) }),
  };
}

/** @throws {DriverError} `invalid_spec` */
export function networkFromWire(egress: string): InstanceNetwork {
  return { egress: oneOf('The egress', egress, ['internet', 'none', 'governed']) };
}

function limitsFromWire(limits: wire.Limits | undefined): InstanceLimits {
  return defined({
    cpuCount: limits?.cpuCount,
    memoryMiB: limits?.memoryMib,
    diskMiB: limits?.diskMib,
    pids: limits?.pids,
  });
}

function limitsToWire(limits: InstanceLimits) {
  const { memoryMiB, diskMiB, ...rest } = limits;
  return defined({ ...rest, memoryMib: memoryMiB, diskMib: diskMiB });
}

export function instanceToWire(handle: string, instance: Instance): MessageInitShape<typeof InstanceSchema> {
  const { id, labels, reach, address, isolation } = instance;
  return {
    ...{ handle, id, labels },
    ...(reach === undefined ? {} : { reach: reachToWire(reach) }),
    ...(address === undefined ? {} : { address }),
    ...(isolation === undefined ? {} : { isolation }),
  };
}

function reachToWire({ daemon, hosts, tunnel }: InstanceReach) {
  return { daemonHost: daemon.host, daemonPort: daemon.port, hosts, tunnel };
}

/** @throws {DriverError} `invalid_spec` */
export function isolationFromWire(isolation: string | undefined): IsolationLevel | undefined {
  return isolation === undefined ? undefined : oneOf('The isolation', isolation, isolationLevels);
}

export function reachFromWire(reach: wire.Reach | undefined): InstanceReach | undefined {
  if (reach === undefined) return undefined;
  const { daemonHost, daemonPort, hosts, tunnel } = reach;
  return { daemon: { host: daemonHost, port: daemonPort }, hosts, tunnel };
}

export function recordFromWire(record: wire.ListResponse_Record): InstanceRecord {
  const { id, labels, createdAtMs } = record;
  return { id, labels, createdAtMs, state: oneOf('The state', record.state, ['running', 'frozen', 'dead']) };
}

export function statsFromWire(stats: wire.InstanceStats): InstanceStats {
  const { $typeName: _, $unknown: __, ...rest } = stats;
  return rest;
}

export function endFromWire(reason: string): InstanceEnd {
  return { reason: oneOf('The reason', reason, ['destroyed', 'exited', 'oom']) };
}

// Volumes

export function entryFromWire(entry: wire.Entry | undefined): VolumeEntry {
  if (entry === undefined) throw new DriverError('unreachable', 'The sandbox runtime gave no entry.');
  const { $typeName: _, $unknown: __, ...rest } = entry;
  return { ...rest, type: oneOf('The type', rest.type, ['file', 'directory', 'symlink', 'unknown']) };
}

export function ownershipFromWire(owner: wire.Ownership | undefined): VolumeOwnership {
  const { uid, gid, mode } = owner ?? {};
  return defined({ uid, gid, mode });
}

export function ownershipToWire({ uid, gid, mode }: VolumeOwnership) {
  return defined({ uid, gid, mode });
}

// The rest

export function capabilitiesFromWire(capabilities: wire.Capabilities | undefined): Capabilities {
  if (capabilities === undefined) throw new DriverError('unreachable', 'The sandbox runtime says nothing.');
  const { $typeName: _, $unknown: __, ...rest } = capabilities;
  return {
    ...rest,
    isolation: oneOf('The isolation', rest.isolation, isolationLevels),
    layers: oneOf('The kind of layers', rest.layers, ['rootfs', 'home']),
  };
}

export function archiveLimitsFromWire(
  limits: wire.ImportLayerRequest_Limits | undefined,
): Partial<ArchiveLimits> {
  if (limits === undefined) return {};
  const { $typeName: _, $unknown: __, ...rest } = limits;
  return defined(rest);
}

/** The same without what is undefined. */
function defined<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
