import type { Readable } from 'node:stream';

/**
 * The kinds of objects that one driver stores and a driver of another host can take over, in the order of the transfer: an object comes
 * after those that it is based on. `agent`: the daemon whose code stored memory runs. `base`: a root file system that layers stand on.
 */
export const objectKinds = ['agent', 'base', 'layer', 'checkpoint'] as const;
export type ObjectKind = (typeof objectKinds)[number];

/** One thing that a driver stores. It never changes, so its copies are as good as itself. */
export interface StoredObject {
  kind: ObjectKind;
  id: string;
}

/** The properties of a machine that stored memory needs in order to resume there. */
export interface Machine {
  /** As Node names it: `x64`, `arm64`. */
  arch: string;
  /** Release of the kernel, such as `6.1.0-18-amd64`. */
  kernel: string;
  /** The features of the processor, as the kernel names them, sorted. */
  cpuFeatures: string[];
}

/** The facts about a stored object that are known without reading it. */
export interface ObjectDescription extends StoredObject {
  /** Bytes that it takes where it is. */
  sizeBytes: number;
  /** The objects that must exist before it. */
  needs: StoredObject[];
  /** True if it contains memory, which only a machine like its own can resume. */
  memory: boolean;
  machine: Machine;
}

export interface ExportOptions {
  /** The number of bytes that the reader has already. Default 0. */
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
  /** Returns true if an object is here, and stays until it is deleted. */
  has(object: StoredObject): Promise<boolean>;
  /** @throws {DriverError} `not_found`; `unsupported` for what cannot leave its host. */
  describe(object: StoredObject): Promise<ObjectDescription>;
  /**
   * An object as a stream of bytes, the same each time: a reader that lost the connection resumes at an offset. The stream
   * fails when the object is deleted meanwhile.
   * @throws {DriverError} as {@link describe}
   */
  export(object: StoredObject, options?: ExportOptions): Promise<Readable>;
  /**
   * Takes over what another driver's {@link export} gave, from its beginning. All of it is hostile until its end showed that it comes
   * from a driver with the same key: an object that is cut short, changed, too large or that reaches anywhere leaves nothing behind. It appears when it is whole and
   * on disk. Does nothing for one that is there already.
   * The caller ends the rest of the archive.
   * @throws {DriverError} `invalid_archive`; `not_found` while something that it needs is not here; `unsupported` when this
   * machine cannot resume its memory; `storage_full`.
   */
  import(object: StoredObject, archive: Readable, options?: ImportObjectOptions): Promise<void>;
}
