/** Where the files of volumes stand: `volumes/<id>` in the data directory; deleted ones wait in `volumes/.trash`. */
export interface VolumeStore {
  /** Absolute path of the volume's directory, made when missing. */
  hostDirectory(volumeId: string): Promise<string>;
  /** Bytes that a volume takes; 0 where nobody counts them. */
  usedBytes(volumeId: string): Promise<number>;
  /**
   * Takes a volume's files out of reach at once. They are removed in the background, or, while a sandbox has the volume
   * mounted and goes on using it, by {@link emptyTrash} after its end.
   */
  discard(volumeId: string): Promise<void>;
  /** Removes what could not be removed before and is mounted no more. @throws {AggregateError} when something stays */
  emptyTrash(): Promise<void>;
}
