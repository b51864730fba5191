const MIB = 2 ** 20;
/** A change of less is not worth a write. */
const STEP_BYTES = 64 * MIB;
/** btrfs needs room of its own to delete anything. */
const SLACK_BYTES = 256 * MIB;

export interface Space {
  /** Bytes that can be written into the store. */
  storeFree: number;
  /** Bytes free on the file system that the store's image is on. */
  hostFree: number;
  /** Bytes that must stay free there. */
  reserve: number;
  /** Size of the ballast now. */
  ballast: number;
}

/**
 * How large the ballast should be: a file in the store that takes room there and none on the host. The image grows as
 * sandboxes write, so without it the host could be full while the store believes to have room: writes of every sandbox
 * would fail in the middle, and the database with them. With it, the store is full first. Undefined: leave it as it is.
 */
export function desiredBallast({ storeFree, hostFree, reserve, ballast }: Space): number | undefined {
  const room = storeFree + ballast;
  const mayWrite = Math.max(0, hostFree - reserve);
  const most = Math.max(0, room - SLACK_BYTES);
  const desired = Math.floor(Math.min(most, Math.max(0, room - mayWrite)) / MIB) * MIB;
  if (desired === 0) return ballast === 0 ? undefined : 0;
  return Math.abs(desired - ballast) < STEP_BYTES ? undefined : desired;
}
