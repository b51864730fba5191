import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isSameProcess, isStopped } from '#support/process-identity';
import { writeAtomically } from '#support/write-atomically';
import type { InstanceRecord } from '../contract/instance.js';

/** The record of an instance on disk, in `instances/<slot>/record.json`. */
export interface StoredInstance {
  /** Name of the directory. It stays when a pooled instance gets its id. */
  slot: string;
  id: string;
  /** `making`: half-made or pooled, not yet acquired. After a crash it is removed. */
  phase: 'making' | 'ready';
  labels: Record<string, string>;
  layers: string[];
  createdAtMs: number;
  frozen: boolean;
  /** Frozen only for a checkpoint that was being taken: it must not stay so. */
  held?: boolean;
  /** Processes that stood on their own when the instance was frozen. */
  stoodBefore: number[];
  daemon?: { pid: number; start: string; port: number };
}

const FILE = 'record.json';

export function writeRecord(directory: string, record: StoredInstance): Promise<void> {
  return writeAtomically(join(directory, FILE), JSON.stringify(record));
}

/** Undefined when there is none, or none that can be read. */
export async function readRecord(directory: string): Promise<StoredInstance | undefined> {
  try {
    return JSON.parse(await readFile(join(directory, FILE), 'utf8')) as StoredInstance;
  } catch {
    return undefined;
  }
}

export function isAlive(record: StoredInstance): boolean {
  return record.daemon !== undefined && isSameProcess(record.daemon.pid, record.daemon.start);
}

/**
 * Returns true if the daemon is stopped although nothing on record stopped it: the driver before was killed while it destroyed the
 * instance, after it had stopped the processes and before it ended them.
 */
export function isLeftStopped(record: StoredInstance): boolean {
  return !record.frozen && isAlive(record) && isStopped(record.daemon!.pid);
}

/** The public description of an instance. */
export function describeRecord(record: StoredInstance, alive: boolean): InstanceRecord {
  const { id, labels, createdAtMs, frozen } = record;
  return { id, labels: { ...labels }, createdAtMs, state: alive ? (frozen ? 'frozen' : 'running') : 'dead' };
}
