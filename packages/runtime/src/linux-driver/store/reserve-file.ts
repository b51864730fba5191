const MIB = 2 ** 20;
/** A change of less is not worth a write. */
const STEP_BYTES = 64 * MIB;

export interface Space {
  /** Bytes that can be written into the store. */
  storeFree: number;
  /** Bytes free on the file system that the store's image is on. */
  hostFree: number;
  /** Bytes that must stay free there. */
  reserve: number;
  /** Size of the reserve file now. */
  reserved: number;
}

/**
 * Returns the size of the reserve file: a file in the store that takes room there and none on the host. The image grows as
 * sandboxes write, so without it the host could be full while the store believes to have room: writes of every sandbox
 * would fail in the middle, and the database with them. With it, the store is full first. Deleting needs no free blocks
 * of data, so a store that is full with the reserve file can still be emptied.
 */
export function desiredReserve({ storeFree, hostFree, reserve, reserved }: Space): number {
  const room = storeFree + reserved;
  const mayWrite = Math.max(0, hostFree - reserve);
  return Math.floor(Math.max(0, room - mayWrite) / MIB) * MIB;
}

/** Returns true if a reserve file may stay as it is. Its removal where none is needed is worth a write. */
export function isSmallChange(reserved: number, desired: number): boolean {
  return desired === 0 ? reserved === 0 : Math.abs(desired - reserved) < STEP_BYTES;
}
