import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DriverError } from '../../contract/errors.js';
import type { Machine, StoredObject } from '../../contract/transfers.js';
import { directorySize } from '../../shared/directory-size.js';
import { readCheckpoint } from '../checkpoints/checkpoint.js';
import type { LinuxHost } from '../host/linux-host.js';
import { readLayerFacts } from '../rootfs/layer-facts.js';
import { needsOf, type ObjectHead } from './object-head.js';

/** Returns true if an object is here, whole. */
export function isHere(host: LinuxHost, { kind, id }: StoredObject): boolean {
  switch (kind) {
    case 'agent':
      return existsSync(host.store.view(`agents/${id}`));
    case 'base':
      // Held from now on: another server of this machine may be about to give it up.
      return host.bases.hold(id);
    case 'layer':
      return readLayerFacts(host.store, id) !== undefined;
    case 'checkpoint':
      return readCheckpoint(host, id) !== undefined;
  }
}

/** Describes an object that is here. @throws {DriverError} `not_found` */
export async function describeObject(
  host: LinuxHost,
  object: StoredObject,
  machine: Machine,
): Promise<ObjectHead> {
  const found = await read(host, object);
  if (found === undefined)
    throw new DriverError('not_found', `There is no ${object.kind} "${object.id}" on this machine.`);
  return { ...object, ...found, memory: found.checkpoint?.memory === true, machine, needs: needsOf(found) };
}

type Found = Pick<ObjectHead, 'sizeBytes' | 'layer' | 'checkpoint'>;

async function read(host: LinuxHost, { kind, id }: StoredObject): Promise<Found | undefined> {
  switch (kind) {
    case 'agent': {
      const directory = host.store.view(`agents/${id}`);
      return existsSync(directory) ? { sizeBytes: await directorySize(directory) } : undefined;
    }
    case 'base': {
      const tree = host.bases.treeOf(id);
      if (tree === undefined) return undefined;
      const { sizeBytes } = JSON.parse(readFileSync(join(tree, '..', 'base.json'), 'utf8'));
      return { sizeBytes: Number(sizeBytes) };
    }
    case 'layer': {
      const facts = readLayerFacts(host.store, id);
      if (facts === undefined) return undefined;
      const { full, base, sizeBytes } = facts;
      return { sizeBytes, layer: { full, ...(base === undefined ? {} : { base }) } };
    }
    case 'checkpoint': {
      const record = readCheckpoint(host, id);
      if (record === undefined) return undefined;
      const { id: _, sizeBytes, inMemory: __, ...checkpoint } = record;
      return { sizeBytes, checkpoint };
    }
  }
}
