import type { VolumeEntryStat, Volume as WireVolume } from '@svc/platform';
import { defined } from '../core/wire-values.js';
import { entryName } from '../untrusted/entry-name.js';
import type { VolumeEntry, VolumeInfo, VolumeOwnership } from './volume-info.js';

/** One volume. */
export function fromVolume(volume: WireVolume): VolumeInfo {
  return { volumeId: volume.volumeID, name: volume.name };
}

/** One entry of a volume. */
export function fromVolumeEntry(entry: VolumeEntryStat): VolumeEntry {
  return {
    name: entryName(entry.name, entry.path),
    type: entry.type,
    path: entry.path,
    sizeBytes: entry.size,
    mode: entry.mode,
    uid: entry.uid,
    gid: entry.gid,
    accessedAt: new Date(entry.atime),
    modifiedAt: new Date(entry.mtime),
    changedAt: new Date(entry.ctime),
    target: entry.target,
  };
}

/** Returns the settings of owner and mode. */
export function toOwnership({ uid, gid, mode }: VolumeOwnership) {
  return defined({ uid, gid, mode });
}
