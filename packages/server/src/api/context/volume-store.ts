import type { VolumeContent } from '@svc/runtime';

/** The volumes of this server's teams; the driver keeps their files. */
export interface VolumeStore {
  /** Makes a volume's directory when it is missing, and sets its limit. @throws {DriverError} `storage_full` */
  prepare(volumeId: string): Promise<void>;
  /** The files of a volume, which is prepared first. */
  content(volumeId: string): Promise<VolumeContent>;
  /** Bytes that a volume takes; 0 where nobody counts them. */
  usedBytes(volumeId: string): Promise<number>;
  /** Removes a volume's files; while a sandbox has it mounted and goes on using it, {@link emptyTrash} does it after its end. */
  discard(volumeId: string): Promise<void>;
  /** Removes what no team has and no sandbox has mounted any more. */
  emptyTrash(): Promise<void>;
}
