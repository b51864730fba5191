import type { VolumeEntryStat } from '@svc/platform';
import type { VolumeEntry } from '@svc/runtime';

export function entryToWire({ atimeMs, mtimeMs, ctimeMs, target, ...entry }: VolumeEntry): VolumeEntryStat {
  return {
    ...entry,
    atime: new Date(atimeMs).toISOString(),
    mtime: new Date(mtimeMs).toISOString(),
    ctime: new Date(ctimeMs).toISOString(),
    ...(target === undefined ? {} : { target }),
  };
}
