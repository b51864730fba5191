import type { SnapshotInfo as WireSnapshot } from '@svc/platform';
import type { SnapshotInfo } from './snapshot.js';

/** One snapshot. */
export function fromSnapshot(snapshot: WireSnapshot): SnapshotInfo {
  return { snapshotId: snapshot.snapshotID, names: snapshot.names };
}
