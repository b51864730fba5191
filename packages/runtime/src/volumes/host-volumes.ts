import type { Volumes } from '../contract/volumes.js';

/** Volumes as their driver has them: directories that it can mount. */
export interface HostVolumes extends Volumes {
  /** Absolute path for this process. */
  path(id: string): Promise<string>;
  /** Removes what an earlier process was about to remove. */
  reap(): Promise<void>;
}
