import { isIPv4 } from 'node:net';
import { isAbsolute } from 'node:path';
import { type Isolation, isolations } from '../../contract/capabilities.js';
import { DriverError } from '../../contract/errors.js';
import type { Machine, ObjectDescription, StoredObject } from '../../contract/transfers.js';
import { HOST_BASE, isBuiltBase } from '../../shared/base-name.js';
import { requireObject } from '../../transfer/object-id.js';
import type { CheckpointRecord } from '../checkpoints/checkpoint.js';
import type { HostFile } from '../checkpoints/host-files.js';

/** The part of a checkpoint's record that goes with it: the rest belongs to the store that it lies in. */
export type MovedCheckpoint = Omit<CheckpointRecord, 'id' | 'sizeBytes' | 'inMemory'>;

/** The part of a layer's record that goes with it. */
export interface MovedLayer {
  full: boolean;
  base?: string | undefined;
}

/** The description that precedes the content of an object. */
export interface ObjectHead extends ObjectDescription {
  layer?: MovedLayer;
  checkpoint?: MovedCheckpoint;
}

const MAX_LAYERS = 256;
const MAX_ADDRESSES = 16;
const MAX_FILES = 20_000;

/** Returns the objects that must exist before an object. */
export function needsOf({ layer, checkpoint }: Pick<ObjectHead, 'layer' | 'checkpoint'>): StoredObject[] {
  const layers = checkpoint?.layers ?? (layer === undefined || layer.full ? [] : [layer.base ?? HOST_BASE]);
  return [
    ...(checkpoint?.memory === true ? [{ kind: 'agent', id: checkpoint.agent } as const] : []),
    ...layers
      .filter((id) => id !== HOST_BASE)
      .map((id) => ({ kind: isBuiltBase(id) ? ('base' as const) : ('layer' as const), id })),
  ];
}

/**
 * Reads what another driver says of an object: every field becomes part of paths, commands or records here.
 * @throws {DriverError} `invalid_archive`
 */
export function readObjectHead(value: unknown, expected: StoredObject): ObjectHead {
  const fields = objectOf(value);
  if (fields.kind !== expected.kind || fields.id !== expected.id) throw refused('it is another object');
  const head = {
    ...expected,
    sizeBytes: countOf(fields.sizeBytes),
    memory: fields.memory === true,
    machine: machineOf(fields.machine),
    ...(expected.kind === 'layer' ? { layer: layerOf(fields.layer) } : {}),
    ...(expected.kind === 'checkpoint' ? { checkpoint: checkpointOf(fields.checkpoint) } : {}),
  };
  if (head.checkpoint !== undefined && head.checkpoint.memory !== head.memory)
    throw refused('it contradicts itself');
  return { ...head, needs: needsOf(head) };
}

function machineOf(value: unknown): Machine {
  const { arch, kernel, cpuFeatures } = objectOf(value);
  return {
    arch: textOf(arch, /^[a-z0-9]{1,16}$/),
    kernel: textOf(kernel, /^[\x21-\x7e]{1,128}$/),
    cpuFeatures: listOf(cpuFeatures, 1_000).map((each) => textOf(each, /^[a-z0-9_]{1,32}$/)),
  };
}

function layerOf(value: unknown): MovedLayer {
  const { full, base } = objectOf(value);
  if (typeof full !== 'boolean') throw refused('its record is damaged');
  return { full, ...(base === undefined ? {} : { base: baseOf(base) }) };
}

function baseOf(value: unknown): string {
  if (value === HOST_BASE) return HOST_BASE;
  if (typeof value !== 'string' || !isBuiltBase(value)) throw refused('its record is damaged');
  return value;
}

function checkpointOf(value: unknown): MovedCheckpoint {
  const { memory, layers, isolation, addresses, agent, hostname, hostFiles, numbered, mounts } =
    objectOf(value);
  if (typeof memory !== 'boolean') throw refused('its record is damaged');
  return {
    memory,
    layers: listOf(layers, MAX_LAYERS).map((each) =>
      each === HOST_BASE || isBuiltBase(String(each))
        ? baseOf(each)
        : textOf(each, /^[a-z0-9][a-z0-9-]{0,63}$/),
    ),
    agent: requireObject({ kind: 'agent', id: textOf(agent, /^[a-z0-9]+$/) }).id,
    numbered: numbered === true,
    mounts: listOf(mounts, 1_000).map(pathOf),
    ...(isolation === undefined ? {} : { isolation: isolationOf(isolation) }),
    ...(addresses === undefined ? {} : { addresses: listOf(addresses, MAX_ADDRESSES).map(addressOf) }),
    ...(hostname === undefined ? {} : { hostname: textOf(hostname, /^[a-z0-9]{1,64}$/) }),
    ...(hostFiles === undefined ? {} : { hostFiles: listOf(hostFiles, MAX_FILES).map(hostFileOf) }),
  };
}

function isolationOf(value: unknown): Isolation {
  const known = isolations.find((each) => each === value);
  if (known === undefined) throw refused('its record is damaged');
  return known;
}

/** It becomes an address of the sandbox's network. */
function addressOf(value: unknown): string {
  if (typeof value !== 'string' || !isIPv4(value)) throw refused('its record is damaged');
  return value;
}

function hostFileOf(value: unknown): HostFile {
  const { path, size, mtimeMs } = objectOf(value);
  const known = pathOf(path);
  if (!known.startsWith('/usr/')) throw refused('its record is damaged');
  return { path: known, size: countOf(size), mtimeMs: countOf(mtimeMs) };
}

function pathOf(value: unknown): string {
  if (
    typeof value !== 'string' ||
    !isAbsolute(value) ||
    value.length > 4_096 ||
    /\0|(^|\/)\.\.(\/|$)/.test(value)
  )
    throw refused('its record is damaged');
  return value;
}

function textOf(value: unknown, pattern: RegExp): string {
  if (typeof value !== 'string' || !pattern.test(value)) throw refused('its record is damaged');
  return value;
}

function countOf(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw refused('its record is damaged');
  return value;
}

function listOf(value: unknown, most: number): unknown[] {
  if (!Array.isArray(value) || value.length > most) throw refused('its record is damaged');
  return value;
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refused('its record is damaged');
  return value as Record<string, unknown>;
}

function refused(why: string): DriverError {
  return new DriverError('invalid_archive', `The copy of a stored object is refused: ${why}.`);
}
