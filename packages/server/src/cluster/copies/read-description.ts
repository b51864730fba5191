import {
  DriverError,
  type ObjectDescription,
  objectKinds,
  requireObject,
  type StoredObject,
} from '@svc/runtime/contract';

/** The fields of a description that are used here. */
export type DescribedObject = Pick<ObjectDescription, 'kind' | 'id' | 'sizeBytes' | 'needs'>;

/** A checkpoint stands on its layers, their base and an agent. */
const MOST_NEEDS = 1_000;

/**
 * Reads what another server says of an object. An object stands only on such of kinds before its own: there is no circle in
 * which one copy would wait for another for ever.
 * @param text JSON
 * @throws {DriverError} `invalid_archive`
 */
export function readDescription(text: string, object: StoredObject): DescribedObject {
  const { sizeBytes, needs } = parse(text);
  if (typeof sizeBytes !== 'number' || !Number.isSafeInteger(sizeBytes) || sizeBytes < 0)
    throw refused('it has no size');
  if (!Array.isArray(needs) || needs.length > MOST_NEEDS) throw refused('what it stands on is no list');
  return { ...object, sizeBytes, needs: needs.map((each) => readNeeded(each, object)) };
}

function readNeeded(value: unknown, object: StoredObject): StoredObject {
  const { kind, id } = (value ?? {}) as Record<string, unknown>;
  if (typeof kind !== 'string' || typeof id !== 'string') throw refused('what it stands on is no object');
  const needed = requireObject({ kind, id });
  if (objectKinds.indexOf(needed.kind) >= objectKinds.indexOf(object.kind))
    throw refused(`a ${object.kind} does not stand on a ${needed.kind}`);
  return needed;
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // As anything else that is no description.
  }
  throw refused('its description cannot be read');
}

function refused(why: string): DriverError {
  return new DriverError('invalid_archive', `The copy of a stored object is refused: ${why}.`);
}
