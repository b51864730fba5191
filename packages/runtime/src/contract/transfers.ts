import type { Readable } from 'node:stream';

/**
 * What a driver stores and a driver of another host can take over, in the order in which it is taken: what stands on others
 * comes after them. `agent`: the daemon whose code stored memory runs. `base`: a root file system that layers stand on.
 */
export const objectKinds = ['agent', 'base', 'layer', 'checkpoint'] as const;
export type ObjectKind = (typeof objectKinds)[number];

/** One thing that a driver stores. It never changes, so its copies are as good as itself. */
export interface StoredObject {
  kind: ObjectKind;
  id: string;
}

/** What stored memory needs of the machine that it goes on on. */
export interface Machine {
  /** As Node names it: `x64`, `arm64`. */
  arch: string;
  /** Release of the kernel, such as `6.1.0-18-amd64`. */
  kernel: string;
  /** What the processor can do, as the kernel names it, sorted. */
  cpuFeatures: string[];
}

/** What is known of a stored object without reading it. */
export interface ObjectDescription extends StoredObject {
  /** Bytes that it takes where it is. */
  sizeBytes: number;
  /** What has to be there before it. */
  needs: StoredObject[];
  /** Whether it holds memory, which only a machine like its own can go on with. */
  memory: boolean;
  machine: Machine;
}

export interface ExportOptions {
  /** How many bytes of it the reader has already. Default 0. */
  offset?: number;
}

export interface ImportObjectOptions {
  /** It is refused when it is larger. Default 32 GiB. */
  maxBytes?: number;
  /** Aborting undoes what was taken so far. */
  signal?: AbortSignal;
}

/** Stored objects on their way to another host. */
export interface Transfers {
  /** The machine of this driver. */
  readonly machine: Machine;
  /** Whether an object is here, and stays until it is deleted. */
  has(object: StoredObject): Promise<boolean>;
  /** @throws {DriverError} `not_found`; `unsupported` for what cannot leave its host. */
  describe(object: StoredObject): Promise<ObjectDescription>;
  /**
   * An object as a stream of bytes, the same each time: whoever lost the connection goes on where it broke off. The stream
   * fails when the object is deleted meanwhile.
   * @throws {DriverError} as {@link describe}
   */
  export(object: StoredObject, options?: ExportOptions): Promise<Readable>;
  /**
   * Takes over what another driver's {@link export} gave, from its beginning. All of it is hostile until its end showed that it comes
   * from a driver with the same key: an object that is cut short, changed, too large or that reaches anywhere leaves nothing behind. It appears when it is whole and
   * on disk. Does nothing for one that is there already.
   * What is left of the archive is the caller's to end.
   * @throws {DriverError} `invalid_archive`; `not_found` while something that it needs is not here; `unsupported` when this
   * machine cannot go on with its memory; `storage_full`.
   */
  import(object: StoredObject, archive: Readable, options?: ImportObjectOptions): Promise<void>;
}
