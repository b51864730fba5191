import { DriverError } from '../contract/errors.js';
import { type ObjectKind, objectKinds, type StoredObject } from '../contract/transfers.js';
import { isBuiltBase } from '../shared/base-name.js';

const IDS: Record<ObjectKind, (id: string) => boolean> = {
  agent: (id) => /^[a-z0-9]{8,64}$/.test(id),
  base: isBuiltBase,
  layer: (id) => /^[a-z0-9][a-z0-9-]{0,63}$/.test(id),
  checkpoint: (id) => /^[a-z0-9-]{1,64}$/.test(id),
};

/** Returns true if it can be the id of an object: the id comes from others and becomes part of a path. */
export function isObjectId(kind: ObjectKind, id: string): boolean {
  return IDS[kind](id);
}

/** Checks what becomes part of paths. @throws {DriverError} `not_found`: what cannot be an object is none. */
export function requireObject({ kind, id }: { kind: string; id: string }): StoredObject {
  const known = objectKinds.find((each) => each === kind);
  if (known === undefined || !isObjectId(known, id))
    throw new DriverError('not_found', 'There is no such stored object.');
  return { kind: known, id };
}

export function objectName({ kind, id }: StoredObject): string {
  return `${kind} ${id}`;
}
